// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"slices"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-59268b81/talos/sys/platform"
)

// TestRecorded parses documents in the forms that the clouds' documentation has, as far as the lab's servers do not send them. The commands
// are
//
//	document PATH      adds a document
//	machine PLATFORM   prints what the documents say about the machine, and forgets them
//	user PLATFORM      prints the configuration in the first of them that has one
func TestRecorded(t *testing.T) {
	datadriven.Walk(t, "testdata/recorded", func(t *testing.T, path string) {
		docs := documents{}

		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			word := d.CmdArgs[0].String() // a path may have a query

			switch d.Cmd {
			case "document":
				docs[word] = []byte(d.Input)

				return ""
			case "user":
				c, _ := Find(word, platform.Hardware{})

				text, err := c.userData(t.Context(), docs.fetch(c.bases[0]), c.bases[0])
				if err != nil {
					return err.Error() + "\n"
				}

				return string(text)
			case "machine":
				c, _ := Find(word, platform.Hardware{})

				for path := range docs {
					if !c.reads(docs, path) {
						t.Errorf("%s: platform %s does not read the document %s", d.Pos, word, path)
					}
				}

				out := show(t, c.read(docs))
				docs = documents{}

				return out
			default:
				t.Fatalf("unknown command %s", d.Cmd)

				return ""
			}
		})
	})
}

// reads reports whether the cloud reads a document.
func (c *Cloud) reads(docs documents, path string) bool {
	all := slices.Clone(c.documents)
	if c.more != nil {
		all = append(all, c.more(docs)...)
	}

	for _, u := range c.user {
		all = append(append(all, u.path), u.beside...)
	}

	return slices.Contains(all, path)
}

// fetch returns a Fetch of the documents alone.
func (d documents) fetch(base string) Fetch {
	return func(_ context.Context, r Request) ([]byte, error) {
		for path, text := range d {
			if under(base, path) == r.URL {
				return text, nil
			}
		}

		return nil, ErrNotFound
	}
}

func TestSeedURL(t *testing.T) {
	for serial, want := range map[string]string{
		"ds=nocloud;s=http://10.5.0.1/seed":                    "http://10.5.0.1/seed/",
		"ds=nocloud-net;h=node;s=https://lab.example/x/;i=abc": "https://lab.example/x/",
		"ds=nocloud;seedfrom=http://10.5.0.1/":                 "http://10.5.0.1/",
		"ds=nocloud":                                           "", "ds=nocloud;s=file:///x": "", "C02XYZ": "", "": "", "ds=ec2;s=http://10.5.0.1/": "",
	} {
		if got := seedURL(serial); got != want {
			t.Errorf("seedURL(%q): got %q, want %q", serial, got, want)
		}
	}
}

func TestMaskBits(t *testing.T) {
	r := &reader{}

	for _, tt := range []struct{ address, mask, want string }{
		{"10.5.0.2", "255.255.240.0", "10.5.0.2/20"}, {"10.5.0.2", "24", "10.5.0.2/24"}, {"10.5.0.2", "", "10.5.0.2/32"},
		{"fd05::2", "ffff:ffff:ffff:ffff::", "fd05::2/64"}, {"fd05::2", "64", "fd05::2/64"}, {"10.5.0.2", "0.0.0.0", "10.5.0.2/0"},
		{"10.5.0.2", "255.0.255.0", ""}, {"10.5.0.2", "33", ""}, {"10.5.0.2", "-1", ""}, {"10.5.0.2", "ffff::", ""}, {"10.5.0.300", "24", ""},
	} {
		got := r.masked("x", tt.address, tt.mask)
		if got.IsValid() != (tt.want != "") || got.IsValid() && got.String() != tt.want {
			t.Errorf("masked(%s, %s): got %s, want %s", tt.address, tt.mask, got, tt.want)
		}
	}

	if len(r.ignored) != 5 {
		t.Errorf("ignored %q, want 5", r.ignored)
	}
}
