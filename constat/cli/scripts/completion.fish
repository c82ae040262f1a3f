# Completion of constat for fish. Make it anew with: constat completion fish
function __constat_complete
    set -l words (commandline -opc)
    set -lx _CONSTAT_COMPLETE fish
    set -lx COMP_WORDS (string join \n -- $words | string collect)
    set -lx COMP_CURRENT (commandline -ct)
    for line in ($words[1] 2>/dev/null)
        set -l parts (string split -m 2 \t -- $line)
        switch $parts[1]
            case plain
                printf '%s\t%s\n' $parts[2] "$parts[3]"
            case file
                __fish_complete_path (commandline -ct)
            case dir
                __fish_complete_directories (commandline -ct)
        end
    end
end
complete -c constat -f -a '(__constat_complete)'
