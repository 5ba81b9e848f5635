// SPDX-License-Identifier: Apache-2.0

// Package spdx reads and writes lists of software, in the format SPDX 2.3 in JSON: of each package the name, the version, the license and the
// names by which databases of vulnerabilities know it. Files and relations between packages are not in it, except that the document
// describes all packages.
package spdx

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Package is a piece of software.
type Package struct {
	Name, Version string
	// License is an expression of SPDX, or empty if it is not known.
	License string
	// SHA256 is the digest of the file that it comes in, in hexadecimal, or empty.
	SHA256 string
	// PURLs and CPEs are its names as package URLs and in the Common Platform Enumeration.
	PURLs, CPEs []string
}

// unknown is the value of what is not said.
const unknown = "NOASSERTION"

type document struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []entry        `json:"packages"`
	Relationships []relationship `json:"relationships,omitempty"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type entry struct {
	ID         string      `json:"SPDXID"`
	Name       string      `json:"name"`
	Version    string      `json:"versionInfo,omitempty"`
	Location   string      `json:"downloadLocation"`
	Analyzed   bool        `json:"filesAnalyzed"`
	Concluded  string      `json:"licenseConcluded"`
	Declared   string      `json:"licenseDeclared"`
	Copyright  string      `json:"copyrightText"`
	Checksums  []checksum  `json:"checksums,omitempty"`
	References []reference `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

const documentID = "SPDXRef-DOCUMENT"

// Encode returns the document of packages. Its identifier is derived from them.
func Encode(name string, created time.Time, packages []Package) ([]byte, error) {
	d := document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: documentID, Name: name,
		Creation: creation{created.UTC().Format(time.RFC3339), []string{"Tool: " + name}},
		Packages: []entry{},
	}

	for i, p := range packages {
		e := entry{
			ID: fmt.Sprintf("SPDXRef-Package-%d", i+1), Name: p.Name, Version: p.Version, Location: unknown,
			Concluded: unknown, Declared: unknown, Copyright: unknown,
		}

		if p.License != "" {
			e.Declared = p.License
		}

		if p.SHA256 != "" {
			e.Checksums = []checksum{{"SHA256", p.SHA256}}
		}

		for _, u := range p.PURLs {
			e.References = append(e.References, reference{"PACKAGE-MANAGER", "purl", u})
		}

		for _, c := range p.CPEs {
			e.References = append(e.References, reference{"SECURITY", "cpe23Type", c})
		}

		d.Packages = append(d.Packages, e)
		d.Relationships = append(d.Relationships, relationship{documentID, "DESCRIBES", e.ID})
	}

	content, err := json.Marshal(d.Packages)
	if err != nil {
		return nil, fmt.Errorf("encode SPDX: %w", err)
	}

	d.Namespace = fmt.Sprintf("https://spdx.org/spdxdocs/%s-%x", name, sha256.Sum256(content))

	b, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode SPDX: %w", err)
	}

	return append(b, '\n'), nil
}

// Decode returns the packages of a document.
func Decode(b []byte) ([]Package, error) {
	var d document
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("decode SPDX: %w", err)
	}

	if !strings.HasPrefix(d.Version, "SPDX-2.") {
		return nil, fmt.Errorf("decode SPDX: it has version %q, want SPDX-2.x", d.Version)
	}

	packages := make([]Package, 0, len(d.Packages))

	for i, e := range d.Packages {
		if e.Name == "" {
			return nil, fmt.Errorf("decode SPDX: package %d has no name", i+1)
		}

		p := Package{Name: e.Name, Version: e.Version}

		for _, license := range []string{e.Concluded, e.Declared} {
			if license != unknown && license != "NONE" {
				p.License = license
			}
		}

		for _, c := range e.Checksums {
			if c.Algorithm == "SHA256" {
				p.SHA256 = c.Value
			}
		}

		for _, r := range e.References {
			switch r.Type {
			case "purl":
				p.PURLs = append(p.PURLs, r.Locator)
			case "cpe23Type", "cpe22Type":
				p.CPEs = append(p.CPEs, r.Locator)
			}
		}

		packages = append(packages, p)
	}

	return packages, nil
}
