package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const repository = "../.."

// markdown is a page of the documentation.
type markdown struct {
	// path is relative to the repository.
	path  string
	lines []string
	// code is, for each line, the block of code that it belongs to: 0 is none.
	code []int
	// language is that of each block, empty where it is not said; of block 0
	// it means nothing. Blocks by indentation have none.
	language []string
}

// readPages returns README, CONTRIBUTING, CHANGELOG and every page below docs.
func readPages(t *testing.T) []*markdown {
	t.Helper()
	paths := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
	err := filepath.WalkDir(filepath.Join(repository, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".md" {
			relative, err := filepath.Rel(repository, path)
			paths = append(paths, filepath.ToSlash(relative))
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages := make([]*markdown, 0, len(paths))
	for _, path := range paths {
		text, err := os.ReadFile(filepath.Join(repository, path))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, parseMarkdown(path, string(text)))
	}
	return pages
}

// parseMarkdown finds the blocks of code: fenced, or indented by four spaces
// after an empty line.
func parseMarkdown(path, text string) *markdown {
	m := &markdown{path: path, lines: strings.Split(text, "\n"), language: []string{""}}
	m.code = make([]int, len(m.lines))
	fenced, indented := false, false
	for i, line := range m.lines {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case fenced && isFence:
			fenced = false
		case isFence:
			fenced, indented = true, false
			m.language = append(m.language, strings.TrimSpace(fence))
		case fenced:
			m.code[i] = len(m.language) - 1
		case strings.HasPrefix(line, "    "):
			if !indented && i > 0 && strings.TrimSpace(m.lines[i-1]) == "" && !withinList(m.lines[:i]) {
				indented = true
				m.language = append(m.language, "")
			}
			if indented {
				m.code[i] = len(m.language) - 1
			}
		case strings.TrimSpace(line) != "":
			indented = false
		case indented: // an empty line within, or after
			m.code[i] = len(m.language) - 1
		}
	}
	return m
}

// withinList is true where the last line that is not indented begins an item.
func withinList(lines []string) bool {
	for _, line := range slices.Backward(lines) {
		if line != "" && !strings.HasPrefix(line, " ") {
			return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || regexp.MustCompile(`^\d+\. `).MatchString(line)
		}
	}
	return false
}

// anchors are those of the headings, as GitHub makes them.
func (m *markdown) anchors() map[string]bool {
	found := map[string]bool{}
	for i, line := range m.lines {
		if m.code[i] != 0 || !strings.HasPrefix(line, "#") {
			continue
		}
		slug := slugOf(strings.TrimSpace(strings.TrimLeft(line, "#")))
		for n := 1; found[slug]; n++ {
			slug = slugOf(strings.TrimLeft(line, "# ")) + "-" + string(rune('0'+n))
		}
		found[slug] = true
	}
	return found
}

var linkPattern = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// slugOf is the anchor of a heading.
func slugOf(heading string) string {
	heading = linkPattern.ReplaceAllString(heading, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

var (
	codeSpan   = regexp.MustCompile("`[^`]*`")
	linkTarget = regexp.MustCompile(`\]\(([^()\s]+)(?:\s+"[^"]*")?\)`)
	htmlTarget = regexp.MustCompile(`(?:src|srcset|href)="([^"]+)"`)
)

// links are the targets of links and pictures outside code.
func (m *markdown) links() []string {
	// Links may go over the ends of lines.
	var text strings.Builder
	for i, line := range m.lines {
		if m.code[i] == 0 {
			text.WriteString(line + "\n")
		}
	}
	plain := codeSpan.ReplaceAllString(text.String(), "")
	var targets []string
	for _, pattern := range []*regexp.Regexp{linkTarget, htmlTarget} {
		for _, match := range pattern.FindAllStringSubmatch(plain, -1) {
			targets = append(targets, match[1])
		}
	}
	return targets
}

// pictures returns the files below docs that are pictures.
func pictures(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"docs/pictures/*", "docs/*/pictures/*"} {
		paths, err := fs.Glob(os.DirFS(repository), pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, paths...)
	}
	return found
}

// Links within the repository lead somewhere, to the file and to the heading,
// and every page and picture of docs is linked from somewhere.
func TestDocumentationLinks(t *testing.T) {
	pages := readPages(t)
	byPath := map[string]*markdown{}
	for _, page := range pages {
		byPath[page.path] = page
	}
	linked := map[string]bool{}
	for _, page := range pages {
		for _, target := range page.links() {
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(target, "#")
			path := page.path
			if file != "" {
				path = filepath.ToSlash(filepath.Join(filepath.Dir(page.path), file))
			}
			if _, err := os.Stat(filepath.Join(repository, path)); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", page.path, target)
				continue
			}
			if path != page.path {
				linked[path] = true
			}
			if to := byPath[path]; anchor != "" && to != nil && !to.anchors()[anchor] {
				t.Errorf("%s: %s has no heading with the anchor #%s", page.path, path, anchor)
			}
		}
	}
	for path := range byPath {
		if strings.HasPrefix(path, "docs/") && !linked[path] && filepath.Base(path) != "template.md" {
			t.Errorf("%s: no page links to it", path)
		}
	}
	for _, path := range pictures(t) {
		if !linked[path] {
			t.Errorf("%s: no page shows it", path)
		}
	}
}

func TestMarkdown(t *testing.T) {
	m := parseMarkdown("page.md", strings.Join([]string{
		"# A `b` and [c](d.md): e, f!", "", "text", "    not code", "", "    $ code", "", "    more", "", "- item", "",
		"    its text", "", "```console", "# no heading", "```", "see [x](y.md#z)", "`[no](link)`", "## Twice", "## Twice",
	}, "\n"))
	if want := []int{0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0}; !slices.Equal(m.code, want) {
		t.Errorf("code is %v, want %v", m.code, want)
	}
	if want := []string{"d.md", "y.md#z"}; !slices.Equal(m.links(), want) {
		t.Errorf("links are %q, want %q", m.links(), want)
	}
	for _, anchor := range []string{"a-b-and-c-e-f", "twice", "twice-1"} {
		if !m.anchors()[anchor] {
			t.Errorf("%q is none of the anchors %v", anchor, m.anchors())
		}
	}
}

// proseWidth is the width at which the prose of the documentation wraps, in columns.
const proseWidth = 100

// TestProseWidth checks that prose wraps. Tables, headings, pictures, code, pages
// below reference, which are generated from longer texts, and lines of a single
// word may be longer.
func TestProseWidth(t *testing.T) {
	for _, page := range readPages(t) {
		if strings.HasPrefix(page.path, "docs/reference/") {
			continue
		}
		for i, line := range page.lines {
			text := strings.TrimSpace(line)
			if page.code[i] == 0 && !strings.HasPrefix(line, "    ") && utf8.RuneCountInString(line) > proseWidth &&
				strings.Contains(text, " ") && !strings.ContainsAny(text[:1], "|#!<`") {
				t.Errorf("%s:%d: %d columns, want at most %d", page.path, i+1, utf8.RuneCountInString(line), proseWidth)
			}
		}
	}
}
