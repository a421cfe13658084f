package cli

import (
	"errors"
	"strings"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// DidYouMean returns ": did you mean …?" with the candidates that are like a word, or
// nothing.
func DidYouMean(word string, candidates []string) string {
	near := v1alpha1.NearNames(word, candidates)
	if len(near) == 0 {
		return ""
	}
	return ": did you mean " + strings.Join(near, " or ") + "?"
}

// SplitWords splits a command line at blanks. Quotes and backslashes keep blanks,
// as in a shell; nothing else is special.
func SplitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun := false
	quote := rune(0)
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			escaped = false
			word.WriteRune(r)
		case r == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case strings.ContainsRune(" \t\n", r):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote or a backslash at its end is open")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
