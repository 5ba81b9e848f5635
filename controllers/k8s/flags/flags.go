// SPDX-License-Identifier: Apache-2.0

// Package flags has the flags and feature gates of Kubernetes' programs and etcd, and checks whether a program accepts a command line.
//
// A program exits at once when it gets an unknown flag, and the control plane stops with it. So each command line is checked when it is
// rendered, which is before a configuration is accepted. The list is generated from the programs' own flag sets (build/flags), for the
// versions that are built; other minor versions have other flags, and are not checked. Values of plain types and feature gates are checked
// too. What a program checks after it has parsed its command line is not.
package flags

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:generate go run ../../../cmd/generate/flags

//go:embed flags.txt
var list string

// program has the flags and feature gates of a program.
type program struct {
	// version is major.minor.
	version string
	flags   map[string]string
	gates   map[string]string
}

// kubernetesGates is the name in the list of the feature gates that Kubernetes' programs share.
const kubernetesGates = "kubernetes"

var programs = sync.OnceValue(func() map[string]*program {
	out := map[string]*program{}

	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}

		name, flag, kind := fields[0], fields[1], fields[2]

		p := out[name]
		if p == nil {
			p = &program{flags: map[string]string{}, gates: map[string]string{}}
			out[name] = p
		}

		switch {
		case flag == "version" && majorMinor(kind) != "":
			p.version = majorMinor(kind)
		case strings.HasPrefix(kind, "gate"):
			p.gates[flag] = kind
		default:
			p.flags[flag] = kind
		}
	}

	for name, p := range out {
		if strings.HasPrefix(name, "kube") {
			p.gates = out[kubernetesGates].gates
		}
	}

	return out
})

// Check returns why the program of an image does not accept a command line of --name=value. A program or version that is not in the list is
// not checked.
func Check(name, image string, line []string) error {
	p := programs()[name]
	if p == nil || !p.covers(image) {
		return nil
	}

	for _, arg := range line {
		flag, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")

		kind, known := p.flags[flag]
		if !known {
			return fmt.Errorf("%s %s has no flag --%s%s", name, p.version, flag, p.suggest(flag))
		}

		if err := p.checkValue(flag, kind, value); err != nil {
			return fmt.Errorf("%s: --%s: %w", name, flag, err)
		}
	}

	return nil
}

// covers reports whether the list is for the image's version. An image without a version in its tag counts as current.
func (p *program) covers(image string) bool {
	version := Version(image)

	return version == "" || version == p.version
}

// Version returns the major and minor version in the tag of an image, such as 1.36; "" if there is none.
func Version(image string) string {
	name, _, _ := strings.Cut(image, "@")

	i := strings.LastIndexByte(name, ':')
	if i < 0 {
		return ""
	}

	return majorMinor(name[i+1:])
}

// majorMinor returns 1.36 for v1.36.3, "" for a text that is not a version.
func majorMinor(version string) string {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 2 || strings.Trim(parts[0]+parts[1], "0123456789") != "" || parts[0] == "" || parts[1] == "" {
		return ""
	}

	return parts[0] + "." + parts[1]
}

// suggest names a flag that differs only in its punctuation and case, if there is one.
func (p *program) suggest(flag string) string {
	plain := strings.NewReplacer("-", "", "_", "", ".", "")

	var near []string

	for name := range p.flags {
		if strings.EqualFold(plain.Replace(name), plain.Replace(flag)) {
			near = append(near, name)
		}
	}

	if len(near) == 0 {
		return ""
	}

	return fmt.Sprintf(": write %s", slices.Min(near))
}
