// SPDX-License-Identifier: Apache-2.0

// Package flags knows the flags and feature gates of Kubernetes' programs and etcd, and tells whether one of them would take
// a command line.
//
// A program that is given a flag that it does not know ends at once, and with it the control plane. So a command line is
// checked when it is made, which is before a configuration is accepted. The list is made from the programs' own flag sets
// (build/flags) of the versions that are built; other minor versions have other flags, and are not checked. Values of
// plain types and feature gates are checked too; what a program checks after it has read its command line is not.
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

// program is what one program takes.
type program struct {
	// version is major.minor.
	version string
	flags   map[string]string
	gates   map[string]string
}

// kubernetesGates is the name under which the list has the feature gates that Kubernetes' programs share.
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

// Check tells whether the program of an image would take a command line of --name=value. It says nothing about a program or
// a version that the list does not have.
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

// covers tells whether the list is that of the image's version. An image without a readable tag is taken for current.
func (p *program) covers(image string) bool {
	version := Version(image)

	return version == "" || version == p.version
}

// Version is 1.36 of the tag of an image, "" if it has no readable one.
func Version(image string) string {
	name, _, _ := strings.Cut(image, "@")

	i := strings.LastIndexByte(name, ':')
	if i < 0 {
		return ""
	}

	return majorMinor(name[i+1:])
}

// majorMinor is 1.36 of v1.36.3, "" of what is not a version.
func majorMinor(version string) string {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 2 || strings.Trim(parts[0]+parts[1], "0123456789") != "" || parts[0] == "" || parts[1] == "" {
		return ""
	}

	return parts[0] + "." + parts[1]
}

// suggest names the flag that was meant, if one is near.
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
