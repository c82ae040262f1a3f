# Completion of constat for bash. Make it anew with: constat completion bash
_constat_completion() {
    local kind value text IFS=$'\n'
    local before="${COMP_WORDS[*]:0:COMP_CWORD}" current="${COMP_WORDS[COMP_CWORD]}"
    COMPREPLY=()
    while IFS=$'\t' read -r kind value text; do
        case $kind in
            plain) COMPREPLY+=("$value") ;;
            file) compopt -o default 2>/dev/null ;;
            dir) compopt -o dirnames 2>/dev/null ;;
        esac
    done < <(_CONSTAT_COMPLETE=bash COMP_WORDS="$before" COMP_CURRENT="$current" "$1" 2>/dev/null)
}
complete -F _constat_completion constat
