// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Console shows the progress of a run. On a terminal, the running and waiting steps are below the finished ones and are
// redrawn each second. Elsewhere (a file, CI) there is one line for each finished step, and every half minute a line with
// the running steps and the number of waiting ones. Cached steps are only counted.
type Console struct {
	out   io.Writer
	live  bool
	start time.Time

	mu     sync.Mutex
	active map[string]*activity
	drawn  int // lines of the live part
	cached int
	made   int
	stop   chan struct{}
	ended  sync.WaitGroup
}

type activity struct {
	since time.Time
	text  string
	waits []string // steps that it waits for; empty if it runs
}

// NewConsole shows a run on out until Close. live means that out is a terminal.
func NewConsole(out io.Writer, live bool) *Console {
	c := &Console{
		out: out, live: live, start: time.Now(),
		active: map[string]*activity{}, stop: make(chan struct{}),
	}
	c.ended.Go(c.tick)

	return c
}

// Close stops drawing and prints a summary.
func (c *Console) Close() {
	close(c.stop)
	c.ended.Wait()

	c.mu.Lock()
	defer c.mu.Unlock()

	clear(c.active)
	c.print(fmt.Sprintf("steps built: %d, up to date: %d", c.made, c.cached))
}

// The intervals of drawing on a terminal, and of lines elsewhere.
const (
	frame = time.Second
	beat  = 30 * time.Second
)

func (c *Console) tick() {
	every := beat
	if c.live {
		every = frame
	}

	t := time.NewTicker(every)
	defer t.Stop()

	for {
		select {
		case <-c.stop:
			return
		case <-t.C:
			c.mu.Lock()

			if c.live {
				c.erase()
				c.draw()
			} else if len(c.active) > 0 {
				c.print("… " + c.summary())
			}

			c.mu.Unlock()
		}
	}
}

// Waiting implements Reporter.
func (c *Console) Waiting(step string, on []string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if len(on) == 0 {
		on = []string{"a free processor"}
	}

	c.active[step] = &activity{since: time.Now(), waits: slices.Clone(on)}
}

// Started implements Reporter.
func (c *Console) Started(step string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	delete(c.active, "build")
	c.active[step] = &activity{since: time.Now()}
}

// Progress implements Reporter.
func (c *Console) Progress(step, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if a := c.active[step]; a != nil {
		a.text = text
	}
}

// Finished implements Reporter.
func (c *Console) Finished(step string, cached bool, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()

	delete(c.active, step)

	for _, a := range c.active {
		before := len(a.waits)

		a.waits = slices.DeleteFunc(a.waits, func(w string) bool { return w == step })
		if before > 0 && len(a.waits) == 0 {
			a.since = time.Now()
		}
	}

	if cached {
		c.cached++

		return
	}

	c.made++
	c.print(fmt.Sprintf("%-29s done in %s", step, seconds(took)))
}

// Failed implements Reporter. It shows the first line of the error; the run returns all of it.
func (c *Console) Failed(step string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	delete(c.active, step)

	first, _, _ := strings.Cut(err.Error(), "\n")
	c.print(fmt.Sprintf("%-29s FAILED: %s", step, first))
}

// print prints one permanent line above the live part.
func (c *Console) print(line string) {
	c.erase()
	fmt.Fprintf(c.out, "%7s  %s\n", seconds(time.Since(c.start)), line)
	c.draw()
}

func (c *Console) erase() {
	if c.drawn > 0 {
		fmt.Fprintf(c.out, "\x1b[%dA\x1b[J", c.drawn)
		c.drawn = 0
	}
}

func (c *Console) draw() {
	if !c.live {
		return
	}

	for _, line := range c.lines() {
		// A line that wraps would be counted as one, and a part of it would not be erased.
		if r := []rune(line); len(r) > 100 {
			line = string(r[:99]) + "…"
		}

		fmt.Fprintf(c.out, "         %s\n", line)
		c.drawn++
	}
}

// maxNamed is the maximum number of running steps that a summary names.
const maxNamed = 3

// summary returns one line: the running steps, the longest running first, and the number of waiting ones.
func (c *Console) summary() string {
	var running []string

	waiting := 0

	for _, name := range c.eldest() {
		if a := c.active[name]; len(a.waits) > 0 {
			waiting++
		} else {
			running = append(running, name+" "+time.Since(a.since).Round(time.Second).String())
		}
	}

	if more := len(running) - maxNamed; more > 0 {
		running = append(running[:maxNamed], fmt.Sprintf("%d more", more))
	}

	return fmt.Sprintf("running: %s; waiting: %d", cmp.Or(strings.Join(running, ", "), "nothing"), waiting)
}

// eldest returns the names of the active steps, those longest in their state first.
func (c *Console) eldest() []string {
	return slices.SortedFunc(maps.Keys(c.active), func(a, b string) int {
		return cmp.Or(c.active[a].since.Compare(c.active[b].since), strings.Compare(a, b))
	})
}

// lines returns the live part: the running steps, the longest running first, then the waiting ones by what they wait for.
func (c *Console) lines() []string {
	var lines []string

	waiting := map[string][]string{}

	for _, name := range c.eldest() {
		a := c.active[name]

		if on := strings.Join(a.waits, ", "); on != "" {
			waiting[on] = append(waiting[on], name)

			continue
		}

		line := name + " " + seconds(time.Since(a.since).Truncate(time.Second))
		if a.text != "" {
			line += " (" + a.text + ")"
		}

		lines = append(lines, line)
	}

	for _, on := range slices.Sorted(maps.Keys(waiting)) {
		who := waiting[on]
		slices.Sort(who)

		if more := len(who) - 2; more > 1 {
			who = []string{who[0], who[1], fmt.Sprintf("%d more", more)}
		}

		lines = append(lines, fmt.Sprintf("waiting for %s: %s", on, strings.Join(who, ", ")))
	}

	return lines
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
