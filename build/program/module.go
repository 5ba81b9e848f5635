// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/build/source"
)

// goEnv returns the environment of every Go build. It overrides the user's settings.
func goEnv(cgo bool) []string {
	env := append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "GOFLAGS=-mod=readonly", "GOWORK=off")
	if cgo {
		return append(env, "CGO_ENABLED=1")
	}

	return append(env, "CGO_ENABLED=0")
}

// goBuildFlags are the flags of every Go build. goLinkFlags strip programs, since stack traces need no symbol table. The
// build ID remains, so that the go command can see that a program is up to date.
var goBuildFlags = []string{"build", "-v", "-trimpath", "-buildvcs=false"}

const goLinkFlags = "-s -w"

// modulePath returns the folder of a module of third-party programs.
func modulePath(root, folder string) string { return filepath.Join(root, "build", "modules", folder) }

// step returns the build step of a module.
func (m module) step(root string) graph.Step {
	dir := modulePath(root, m.folder)
	s := graph.Step{
		Name:    m.folder,
		About:   m.about + " " + m.version,
		Heavy:   true,
		Publish: map[string]string{},
		Inputs: func(ctx context.Context, _ graph.Results) ([]string, error) {
			return m.inputs(ctx, root, dir)
		},
		Run: func(ctx context.Context, w *graph.Work) error { return m.build(ctx, dir, w) },
	}

	for _, p := range m.programs {
		s.Publish[p.name] = artifact.Published.Component(p.name)
		if p.bin {
			s.Publish[p.name] = artifact.Published.Bin(p.name)
		}
	}

	return s
}

// inputs returns the inputs of the step: the module's files, the compilers and the flags.
func (m module) inputs(ctx context.Context, root, dir string) ([]string, error) {
	version, err := output(ctx, dir, "go", "env", "GOVERSION")
	if err != nil {
		return nil, err
	}

	inputs := []string{version, goLinkFlags, strings.Join(goBuildFlags, " ")}

	if m.cgo {
		gcc, err := output(ctx, dir, "gcc", "-dumpfullversion")
		if err != nil {
			return nil, err
		}

		libraries, err := output(ctx, dir, "pkg-config", "--modversion", "libseccomp")
		if err != nil {
			return nil, err
		}

		inputs = append(inputs, gcc, libraries)
	}

	for _, p := range m.programs {
		inputs = append(inputs, p.name, p.pkg, strings.Join(p.tags, ","))

		if p.test {
			inputs = append(inputs, "test")
		}
	}

	inputs = append(inputs, strings.Join(m.tags, ","))

	if m.joined {
		how, err := source.Of(root, joinedSource)
		if err != nil {
			return nil, err
		}

		inputs = append(inputs, how)
	}

	for _, name := range slices.Sorted(maps.Keys(m.variables)) {
		inputs = append(inputs, name, m.variables[name])
	}

	files, err := source.Hash(dir, func(string) bool { return true })

	return append(inputs, files), err
}

// build compiles the programs. One go command compiles all with the same tags, so that common packages are compiled once.
func (m module) build(ctx context.Context, dir string, w *graph.Work) error {
	w.Progress("fetching modules")

	variables, err := m.linkVariables(ctx, dir)
	if err != nil {
		return err
	}

	if m.joined {
		return m.join(ctx, dir, w, goBuildArgs{tags: strings.Join(m.tags, ","), cgo: m.cgo, variables: variables})
	}

	type group struct {
		tags string
		test bool
	}

	groups := map[group][]program{}

	for _, p := range m.programs {
		g := group{tags: strings.Join(append(slices.Clone(m.tags), p.tags...), ","), test: p.test}
		groups[g] = append(groups[g], p)
	}

	for g, programs := range groups {
		args := goBuildArgs{dir: dir, out: w.Dir + "/", tags: g.tags, cgo: m.cgo, test: g.test, variables: variables}
		for _, p := range programs {
			args.packages = append(args.packages, p.pkg)
		}

		if err := goBuild(ctx, w, args); err != nil {
			return err
		}

		// The go command names a program after its package.
		for _, p := range programs {
			if err := os.Rename(filepath.Join(w.Dir, p.builtName()), filepath.Join(w.Dir, p.name)); err != nil {
				return err
			}
		}
	}

	return nil
}

// builtName returns the go command's name of the program: the last element of the package's path that is not a major version.
func (p program) builtName() string {
	base := path.Base(p.pkg)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		base = path.Base(path.Dir(p.pkg))
	}

	if p.test {
		base += ".test"
	}

	return base
}

// linkVariables returns the variables for the linker, with the time of the upstream release.
func (m module) linkVariables(ctx context.Context, dir string) (map[string]string, error) {
	filled := maps.Clone(m.variables)

	for name, value := range filled {
		if value != "{built}" {
			continue
		}

		raw, err := output(ctx, dir, "go", "list", "-m", "-json", m.upstream)
		if err != nil {
			return nil, err
		}

		var info struct{ Time string }
		if err := json.Unmarshal([]byte(raw), &info); err != nil || info.Time == "" {
			return nil, fmt.Errorf("module %s has no release time: %w", m.upstream, errors.Join(err))
		}

		filled[name] = info.Time
	}

	return filled, nil
}

type goBuildArgs struct {
	dir, out, tags string
	cgo            bool
	// test builds the tests of the packages.
	test bool
	// symbols keeps what a debugger reads.
	symbols   bool
	variables map[string]string
	packages  []string
}

// goBuild runs the go command and reports the number of compiled packages.
func goBuild(ctx context.Context, w *graph.Work, a goBuildArgs) error {
	link := goLinkFlags
	if a.symbols {
		link = ""
	}

	if a.cgo {
		link += " -linkmode external -extldflags -static"
	}

	for _, name := range slices.Sorted(maps.Keys(a.variables)) {
		link += fmt.Sprintf(" -X '%s=%s'", name, a.variables[name])
	}

	args := append(slices.Clone(goBuildFlags), "-tags", a.tags, "-ldflags", link, "-o", a.out)
	if a.test {
		args = append([]string{"test", "-c"}, args[1:]...)
	}

	cmd := exec.CommandContext(ctx, "go", append(args, a.packages...)...)
	cmd.Dir, cmd.Env = a.dir, goEnv(a.cgo)

	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}

	if err := cmd.Start(); err != nil {
		return err
	}

	var (
		said     []string
		compiled int
	)

	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		line := lines.Text()

		switch {
		case strings.HasPrefix(line, "go: downloading"):
			w.Progress("downloading %s", strings.TrimPrefix(line, "go: downloading "))
		case strings.ContainsAny(line, " :"):
			said = append(said, line)
		default:
			compiled++
			w.Progress("%d packages compiled", compiled)
		}
	}

	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}

		return fmt.Errorf("go build %s: %w\n%s", strings.Join(a.packages, " "), err, strings.Join(said[max(0, len(said)-30):], "\n"))
	}

	return nil
}

// output runs a command and returns its trimmed output.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, goEnv(false)

	var stderr strings.Builder
	cmd.Stderr = &stderr

	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}

	return strings.TrimSpace(string(out)), nil
}
