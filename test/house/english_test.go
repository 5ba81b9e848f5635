// SPDX-License-Identifier: Apache-2.0

package house

import (
	"fmt"
	"go/scanner"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pattern is a phrase to avoid, with what to write instead.
type pattern struct {
	phrase *regexp.Regexp
	// but are longer phrases that begin in the same place and are good.
	but *regexp.Regexp
	// messages limits the pattern to strings of our programs.
	messages bool
	instead  string
}

func phrase(text string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(text, " ", `\s+`) + `)\b`)
}

// patterns are the worst phrases: a reader has to read them twice.
var patterns = []pattern{
	{phrase: phrase(`tells? (?:whether|if)`), instead: "F reports whether"},
	{phrase: phrase(`anew`), instead: "again"},
	{phrase: phrase(`nobody|somebody|whoever`), instead: "no one, or the name of who it is: the client, the process, another controller"},
	{phrase: phrase(`shall`), instead: "must, or the plain present"},
	{phrase: phrase(`can not`), but: phrase(`can not only`), instead: "cannot"},
	{phrase: phrase(`ha(?:s|ve) not come`), instead: "timed out after TIME"},
	{phrase: phrase(`failed to`), messages: true, instead: "operation object: cause"},
	{phrase: phrase(`wish(?:es|ed)?`), instead: "request"},
	{phrase: phrase(`as it were`), instead: "nothing: leave it out"},
	{phrase: phrase(`visitors?`), instead: "client or connection"},
	{phrase: phrase(`crowded`), instead: "overloaded, or too many of what"},
	{
		phrase: phrase(`\w+ is no \w+(?: than)?`), but: phrase(`there is no \w+|\w+ is no (?:longer|one)|\w+ is no (?:more|less) than`),
		instead: "X is not a Y",
	},
}

// quoted are lines with texts of other programs or names of users, by file.
var quoted = map[string][]string{
	"apid/reason.go": {
		`{"failed to set TCP_USER_TIMEOUT: ", stepConnect, ""},`,
		`{"failed to write client preface: ", stepHandshake, ""},`,
		`{"failed to write initial settings frame: ", stepHandshake, ""},`,
		`{"failed to write window update: ", stepHandshake, ""},`,
	},
	"build/containerimage/conformance.go": {"const nginxConf = `user nobody nobody;"},
	"build/containerimage/start_test.go":  {`images.TestNonewprivs:         {{"start-stop-daemon -S -c nobody -x /usr/local/bin/nnp", "Effective uid: 0"}},`},
	"ctl/explain/etcd.go": {
		`case strings.HasPrefix(line.Msg, "prober detected unhealthy"), strings.HasPrefix(line.Msg, "failed to reach the peer"),`,
	},
	"build/containerimage/trees.go": {
		`"nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n" +`,
	},
}

// find returns the patterns in a text, each with its position.
func find(text string, messages bool) (found []string, at []int) {
	for _, p := range patterns {
		if p.messages && !messages {
			continue
		}

		for _, place := range p.phrase.FindAllStringIndex(text, -1) {
			if p.but != nil {
				if good := p.but.FindStringIndex(text[place[0]:]); good != nil && good[0] == 0 {
					continue
				}
			}

			words := strings.Fields(text[place[0]:place[1]])
			found = append(found, fmt.Sprintf("%q: write %s", strings.Join(words, " "), p.instead))
			at = append(at, place[0])
		}
	}

	return found, at
}

// prose is a comment or a string of a Go file, and the line that it begins on.
type prose struct {
	text    string
	line    int
	message bool
}

// proseOf returns the comments and strings of a Go file. Consecutive lines of comments are one text, because a phrase can
// continue on the next line; spaces replace the comment marks.
func proseOf(text []byte) []prose {
	var (
		s    scanner.Scanner
		out  []prose
		file = token.NewFileSet().AddFile("", -1, len(text))
		end  = -1 // the line on which the last comment ends
	)

	s.Init(file, text, nil, scanner.ScanComments)

	for {
		pos, tok, literal := s.Scan()
		line := file.Line(pos)

		switch tok {
		case token.EOF:
			return out
		case token.STRING:
			out = append(out, prose{text: literal, line: line, message: true})
		case token.COMMENT:
			literal = strings.NewReplacer("//", "  ", "/*", "  ", "*/", "  ").Replace(literal)

			if n := len(out); n > 0 && line == end+1 && !out[n-1].message {
				out[n-1].text += "\n" + literal
			} else {
				out = append(out, prose{text: literal, line: line})
			}

			end = line + strings.Count(literal, "\n")
		}
	}
}

// TestPlainEnglish finds the patterns in comments, strings and documents.
func TestPlainEnglish(t *testing.T) {
	report := func(file string, text []byte, p prose) {
		lines := strings.Split(string(text), "\n")
		found, at := find(p.text, p.message && !strings.HasSuffix(file, "_test.go"))

		for i, what := range found {
			line := p.line + strings.Count(p.text[:at[i]], "\n")
			if !slices.Contains(quoted[file], strings.TrimSpace(lines[line-1])) {
				t.Errorf("%s:%d: %s", file, line, what)
			}
		}
	}

	each(t, ".go", func(file string, text []byte) {
		if generated.Match(text) || file == "test/house/english_test.go" {
			return
		}

		for _, p := range proseOf(text) {
			report(file, text, p)
		}
	})

	each(t, ".md", func(file string, text []byte) { report(file, text, prose{text: string(text), line: 1}) })
}

// TestQuotesAreThere checks that the files have the quoted lines.
func TestQuotesAreThere(t *testing.T) {
	each(t, ".go", func(file string, text []byte) {
		for _, quote := range quoted[file] {
			if !slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool { return strings.TrimSpace(line) == quote }) {
				t.Errorf("%s has no line %q", file, quote)
			}
		}
	})
}

func TestPatterns(t *testing.T) {
	for _, bad := range []string{
		"F tells whether it is so", "It tells if it is", "rendered anew", "Nobody reads it", "somebody else", "whoever asks",
		"it shall not", "it can not be", "it has not come in 20m0s", "they have not come", "failed to read", "a wish", "what it wished",
		"one, as it were, of many", "visitors wait", "a crowded server", "a name is no address", "it is no error", "it is no\nerror",
		"that is no more a word",
	} {
		if found, _ := find(bad, true); len(found) != 1 {
			t.Errorf("%q: got %q, want one pattern", bad, found)
		}
	}

	for _, good := range []string{
		"F reports whether it is so", "rendered again", "no one reads it", "it must not", "it cannot be", "timed out after 20m0s",
		"read state: %w", "a request", "clients wait", "an overloaded server", "a name is not an address", "there is no address",
		"There is\nno address", "it is no longer there", "it is no more than one", "it is no less than one", "there is no one", "it can not only read",
		"the marshaller", "renewed", "a wishbone",
	} {
		if found, _ := find(good, true); len(found) != 0 {
			t.Errorf("%q: got %q, want none", good, found)
		}
	}

	if found, _ := find("failed to read", false); len(found) != 0 {
		t.Errorf("a comment: got %q, want none", found)
	}
}

func TestProse(t *testing.T) {
	const source = "package p\n\n// F tells\n// whether.\nfunc F() string { return \"anew\" } // shall\n\n/* a wish */\nvar nobody = `x\nanew`\n"

	var got []string

	for _, p := range proseOf([]byte(source)) {
		found, at := find(p.text, p.message)
		for i := range found {
			got = append(got, fmt.Sprint(p.line+strings.Count(p.text[:at[i]], "\n"), " ", strings.Split(found[i], ":")[0]))
		}
	}

	want := []string{`3 "tells whether"`, `5 "anew"`, `5 "shall"`, `7 "wish"`, `9 "anew"`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
