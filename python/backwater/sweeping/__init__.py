"""Many runs of a scenario: sweeps over axes and seeds with a cache of what was run before, and tuning.

From the bottom: `document` reads TOML and says where what is wrong stands, `values` makes ranges into values, `plan` is
what a sweep file says, `cells` are its runs, `cache` keeps them by their content, `engine` and `on_ray` run those that
are missing, `frame` makes tables of them, `sweep` puts these together. `task` is what a tuning file says, `tuning`
searches, `judged` reports. `quick` is what ``run --sweep`` needs of it.
"""
