// SPDX-License-Identifier: Apache-2.0

package cositest

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/cosi/typed"
)

type wordSpec struct {
	Text string `yaml:"text" protobuf:"1"`
}

type lineSpec struct {
	Text string `yaml:"text" protobuf:"1"`
}

type pageSpec struct {
	Lines int `yaml:"lines" protobuf:"1"`
}

var (
	wordDefinition = &resource.Definition{Type: "Words.example.org", DefaultNamespace: "default"}
	lineDefinition = &resource.Definition{Type: "Lines.example.org", DefaultNamespace: "default"}
	pageDefinition = &resource.Definition{Type: "Pages.example.org", DefaultNamespace: "default"}
)

func (wordSpec) Definition() *resource.Definition { return wordDefinition }
func (lineSpec) Definition() *resource.Definition { return lineDefinition }
func (pageSpec) Definition() *resource.Definition { return pageDefinition }

func toLine(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[wordSpec], out *lineSpec) error {
	if in.TypedSpec().Text == "" {
		return transform.ErrNoOutput
	}

	out.Text = in.TypedSpec().Text + "."

	return nil
}

// counting writes the number of lines. With wrong set, it counts the new lines that it sees instead.
func counting(count func(before, lines int) int) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "Count",
		Reads:          []controller.Input{controller.In[lineSpec](controller.Weak, "")},
		Writes:         []controller.Output{controller.Out[pageSpec](controller.Exclusive)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			lines, err := typed.List[lineSpec](ctx, rt, "")
			if err != nil {
				return err
			}

			return typed.Modify(ctx, rt, "", "page", func(p *pageSpec) error {
				p.Lines = count(p.Lines, len(lines))

				return nil
			})
		},
	}
}

// write writes a line and changes it several times.
func write(e *Environment) {
	for i := range 20 {
		Set(e, fmt.Sprint("w", i%7), wordSpec{fmt.Sprint("word", i)})
		time.Sleep(time.Second)

		switch {
		case i%5 == 3:
			Set(e, "w0", wordSpec{})
		case i%5 == 4:
			Teardown[wordSpec](e, fmt.Sprint("w", i%7))
		}
	}
}

func TestConverges(t *testing.T) {
	right := func(_, lines int) int { return lines }

	for name, lines := range map[string]func() Named{
		"map": func() Named {
			return transform.Map[wordSpec, lineSpec]{Name: "Lines", Transform: toLine, Hold: true}.Controller()
		},
		"queue": func() Named {
			return transform.Queue[wordSpec, lineSpec]{Name: "Lines", Transform: toLine, Concurrency: 3}.Controller()
		},
	} {
		t.Run(name, func(t *testing.T) {
			Converges(t, 30, func() []Named { return []Named{lines(), counting(right)} }, write)
		})
	}
}

// TestConvergesNot: Converges detects a controller that counts changes instead of existing resources.
func TestConvergesNot(t *testing.T) {
	all := func() []Named {
		return []Named{
			transform.Map[wordSpec, lineSpec]{Name: "Lines", Transform: toLine}.Controller(),
			counting(func(before, _ int) int { return before + 1 }),
		}
	}

	undisturbed := converge(t, 0, all, write)

	for seed := 1; seed <= 10; seed++ {
		if converge(t, seed, all, write) != undisturbed {
			return
		}
	}

	t.Errorf("ten runs with faults end as the one without:\n%s", undisturbed)
}
