// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/secrets"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/validate"
)

// Contract is the release that reads a configuration: the minor number of 1.x. Newer releases read it too.
type Contract int

// The contracts. From Documents on, documents take the place of most keys of the v1alpha1 document.
const (
	Oldest    Contract = 12
	Documents Contract = 14
	Newest    Contract = 14
)

func (c Contract) String() string { return fmt.Sprintf("v1.%d", int(c)) }

var releases = regexp.MustCompile(`^v?([0-9]+)\.([0-9]+)(\.[0-9]+.*)?$`)

// ParseContract returns the contract of a release, such as v1.12 or 1.13.2. A release after the newest contract reads that one.
func ParseContract(release string) (Contract, error) {
	m := releases.FindStringSubmatch(release)
	if m == nil {
		return 0, fmt.Errorf("%q: want a release such as %s", release, Newest)
	}

	major, errMajor := strconv.Atoi(m[1])
	minor, errMinor := strconv.Atoi(m[2])

	switch {
	case errMajor != nil || errMinor != nil || major < 1 || major == 1 && minor < int(Oldest):
		return 0, fmt.Errorf("%s: configurations are generated for %s and later; older releases cannot read them", release, Oldest)
	case major > 1:
		return Newest, nil
	default:
		return min(Contract(minor), Newest), nil
	}
}

// Accepted returns the newest contract of which machines of this version accept all documents.
func Accepted() Contract {
	for c := Newest; c > Oldest; c-- {
		if kinds, err := Refused(c); err == nil && len(kinds) == 0 {
			return c
		}
	}

	return Oldest
}

// Refused returns the documents of a contract that machines of this version refuse, because they have no effect yet and the machine would
// be less safe than they say.
func Refused(c Contract) (documents []string, err error) {
	in, err := newInput("any", "https://192.0.2.1:6443", "", Options{Secrets: &secrets.Bundle{}, Contract: c, InstallDisk: DefaultInstallDisk})
	if err != nil {
		return nil, err
	}

	for _, role := range []v1alpha1.MachineType{v1alpha1.TypeControlPlane, v1alpha1.TypeWorker} {
		text, err := config.Encode(in.documents(role)...)
		if err != nil {
			return nil, err
		}

		cfg, err := config.Decode(text)
		if err != nil {
			return nil, err
		}

		documents = append(documents, validate.Refused(cfg)...)
	}

	slices.Sort(documents)

	return slices.Compact(documents), nil
}
