// SPDX-License-Identifier: Apache-2.0

package cgroups

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// Group is a control group.
type Group struct {
	Name     string
	Files    map[string]string
	Children map[string]*Group
}

func newGroup(name string) *Group {
	return &Group{Name: name, Files: map[string]string{}, Children: map[string]*Group{}}
}

const (
	maxFile  = 1 << 20
	maxDepth = 64
)

// Read reads the groups from a tar.gz archive of /sys/fs/cgroup. Groups may be removed while they are archived, so it returns the tree
// also with an error.
func Read(archive io.Reader) (*Group, error) {
	root := newGroup(".")

	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return root, fmt.Errorf("read groups: %w", err)
	}

	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return root, nil
		}

		if err != nil {
			return root, fmt.Errorf("read groups: %w", err)
		}

		elements := strings.Split(strings.TrimPrefix(path.Clean("/"+header.Name), "/"), "/")
		if len(elements) > maxDepth {
			return root, fmt.Errorf("read groups: %s is too deep", header.Name)
		}

		if elements[0] == "" {
			continue
		}

		switch header.Typeflag {
		case tar.TypeDir:
			root.at(elements)
		case tar.TypeReg:
			content, err := io.ReadAll(io.LimitReader(files, maxFile))
			if err != nil {
				return root, fmt.Errorf("read groups: %s: %w", header.Name, err)
			}

			last := len(elements) - 1
			root.at(elements[:last]).Files[elements[last]] = string(content)
		}
	}
}

// at returns the group at a path. It adds the group if necessary.
func (g *Group) at(elements []string) *Group {
	for _, name := range elements {
		if g.Children[name] == nil {
			g.Children[name] = newGroup(name)
		}

		g = g.Children[name]
	}

	return g
}

// Rename replaces names of groups.
func (g *Group) Rename(names map[string]string) {
	for _, child := range g.Children {
		if name, known := names[child.Name]; known {
			child.Name = name
		}

		child.Rename(names)
	}
}

func (g *Group) sorted() []*Group {
	return slices.SortedFunc(maps.Values(g.Children), func(a, b *Group) int { return strings.Compare(a.Name, b.Name) })
}
