#compdef constat
# Completion of constat for zsh. Make it anew with: constat completion zsh
_constat() {
    local line kind value text
    local -a parts values shown
    local before="${(pj:\n:)words[1,CURRENT-1]}" current="${words[CURRENT]}"
    while IFS= read -r line; do
        parts=("${(@ps:\t:)line}")
        kind=$parts[1] value=$parts[2] text=$parts[3]
        case $kind in
            plain)
                values+=("$value")
                shown+=("$value${text:+  -- $text}") ;;
            file) _files ;;
            dir) _files -/ ;;
        esac
    done < <(_CONSTAT_COMPLETE=zsh COMP_WORDS="$before" COMP_CURRENT="$current" "${words[1]}" 2>/dev/null)
    (( $#values )) && compadd -l -d shown -- "${values[@]}"
}
if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
    _constat "$@"
else
    compdef _constat constat
fi
