"""``backwater completion``: what lets a shell complete commands, options and keys."""

from __future__ import annotations

import json
from typing import Literal

from backwater import cli
from backwater.cli.options import Json

#: What the library's scripts lack. bash parts `KEY=WORD` into three words, where the script wants one. That of zsh
#: is made to be loaded from a folder: zsh does not know it when it is read by `source`.
_MORE = {
    "bash": r"""
_backwater_whole() {
  local -a whole=()
  local part glue=
  for part in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    if [[ $part == "=" && ${#whole[@]} -gt 0 && ${whole[-1]} != -* ]]; then
      whole[-1]+="=" glue=1
    elif [[ $glue ]]; then
      whole[-1]+=$part glue=
    else
      whole+=("$part")
    fi
  done
  local -a COMP_WORDS=("${whole[@]}")
  local COMP_CWORD=$((${#whole[@]} - 1)) last=${whole[-1]}
  _backwater "$@"
  [[ $last != *=* ]] || COMPREPLY=("${COMPREPLY[@]#"${last%=*}="}")
}
complete -F _backwater_whole backwater
""",
    "zsh": "\ncompdef _cyclopts_backwater backwater\n",
}


def completion(shell: Literal["bash", "zsh", "fish"], /, *, json_: Json = False) -> None:
    """Print the script that lets a shell complete commands, options, files and, after `--set`, keys of a scenario.

    bash and zsh: `source <(backwater completion bash)`, in zsh after `compinit`. fish: `backwater completion fish |
    source`. To keep it, put the line into `.bashrc`, `.zshrc` or `config.fish`.

    Parameters
    ----------
    shell
        The shell.
    json_
        Print JSON: the shell and the script.
    """
    script = cli.app().generate_completion(prog_name="backwater", shell=shell) + _MORE.get(shell, "")
    print(json.dumps({"shell": shell, "script": script}) if json_ else script)
