"""Results in the formats of other tools: HPCC's text files, CSV, Perfetto, pcapng."""
