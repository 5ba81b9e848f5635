// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-59268b81/talos/config"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
)

// TestAcquisitionScripts runs the scripts of the state machine, which have the actions and the phase after each event. -rewrite writes
// the new ones; commit only what you understand. A configuration is a word. The commands are
//
//	start [remote]                   a new boot, on a platform that has a source of its own
//	seen absent|none|ambiguous|blank|ready|mounted  the state of STATE; none is a machine that is on no disk, ambiguous one that is on two
//	store [CONFIG] [instead=CONFIG] | [broken] [access=CONFIG]
//	waits CONFIG instead=CONFIG      the same, for a trial that waits for a person
//	sources [CONFIG|partial=CONFIG]  what sources that are read at once have
//	platform [CONFIG|partial=CONFIG] what the platform answers
//	network TEXT                     addresses, routes and name servers as they are now
//	meta [unloaded|empty|damaged|access=CONFIG]
//	remembered [unloaded|broken]
//	kept | applied CONFIG | staged CONFIG | tried CONFIG [before=CONFIG] | over | reverted
//	install CONFIG                   it is applied over the API, to a machine without a disk
//	installed [restart] | [broken]   the end of an installation
//	later 20s                        time passes
func TestAcquisitionScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/acquisition", func(t *testing.T, path string) {
		var (
			s     acquisition
			now   time.Time
			named = names{}
		)

		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			word, value := "", ""

			for _, arg := range d.CmdArgs {
				if len(arg.Vals) > 0 {
					value = arg.Vals[0]
				} else {
					word = arg.Key
				}
			}

			switch d.Cmd {
			case "start":
				s, now = acquisition{remote: word == "remote"}, time.Unix(0, 0).UTC()

				return named.phase(s)
			case "later":
				length, err := time.ParseDuration(word)
				if err != nil {
					t.Fatal(err)
				}

				now = now.Add(length)

				return named.phase(s)
			}

			if word == "ambiguous" {
				s.unusable = errors.New("two disks")
			}

			var actions []any
			s, actions = s.next(named.event(t, d.Cmd, word, value), now)

			out := &strings.Builder{}
			for _, action := range actions {
				fmt.Fprintln(out, named.action(action))
			}

			return out.String() + named.phase(s)
		})
	})
}

// names are the names of configurations.
type names map[string]*config.Config

func (n names) config(name string) *config.Config {
	if name == "" {
		return nil
	}

	if n[name] == nil {
		n[name] = &config.Config{}
	}

	return n[name]
}

func (n names) name(cfg *config.Config) string {
	for name, known := range n {
		if known == cfg {
			return name
		}
	}

	return "nothing"
}

func (n names) event(t *testing.T, command, word, value string) any {
	t.Helper()

	problem := map[string]error{"broken": errors.New("broken"), "damaged": errors.New("damaged"), "unloaded": metactl.ErrNotLoaded}[word]

	switch command {
	case "seen":
		return seen{map[string]diskState{"absent": absent, "blank": blank, "ready": ready, "mounted": mounted, "none": none, "ambiguous": ambiguous}[word]}
	case "store":
		if problem != nil {
			return storeRead{access: n.config(value), err: problem}
		}

		return storeRead{cfg: n.config(word), instead: n.config(value)}
	case "waits":
		return storeRead{cfg: n.config(word), instead: n.config(value), confirm: true}
	case "sources":
		return sourcesRead{n.config(word), n.config(value)}
	case "platform":
		return platformAnswered{n.config(word), n.config(value)}
	case "network":
		return networkSeen{word}
	case "meta":
		if word == "unloaded" {
			return metaRead{}
		}

		return metaRead{n.config(value), value != "" || problem != nil, true, problem}
	case "remembered":
		return remembered{problem}
	case "kept":
		return kept{}
	case "applied":
		return applied{n.config(word)}
	case "staged":
		return staged{n.config(word)}
	case "tried":
		return tried{n.config(word), n.config(value)}
	case "over":
		return trialOver{}
	case "reverted":
		return reverted{}
	case "install":
		return installRequested{n.config(word)}
	case "installed":
		return installOver{word == "restart", problem}
	default:
		t.Fatalf("unknown command %s", command)

		return nil
	}
}

func (n names) action(action any) string {
	switch a := action.(type) {
	case install:
		return "install " + n.name(a.cfg)
	case save:
		return "save " + n.name(a.cfg)
	case saveAccess:
		return "save access of " + n.name(a.cfg)
	case remember:
		return "remember " + n.name(a.cfg)
	case show:
		return "show " + a.id + " " + n.name(a.cfg)
	case activate:
		return "activate " + n.name(a.cfg)
	case fail:
		return "fail: " + a.err.Error()
	case wake:
		return "wake after " + a.after.String()
	case report:
		return strings.TrimSpace(fmt.Sprintln(append([]any{"report", a.level, a.text}, a.args...)...))
	case then:
		return fmt.Sprintf("then %T", a.event)
	default:
		return strings.TrimPrefix(fmt.Sprintf("%T", a), "config.")
	}
}

func (n names) phase(s acquisition) string {
	out := []string{"searching", "keeping", "settled"}[s.phase]

	if s.sources == asked {
		out += ", asking the platform"
	}

	if s.partial != nil {
		out += ", with " + n.name(s.partial)
	}

	if s.closed {
		out += ", closed"
	}

	if s.installation.running {
		out += ", installing"
	}

	if s.coming() {
		out += ", STATE is coming"
	}

	if s.trial != nil {
		out += ", on trial, before " + n.name(s.trial.before)
	}

	if s.unremembered != nil {
		out += ", META lacks " + n.name(s.unremembered)
	}

	return out
}
