// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"path"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/install"
)

// EFIFilesWith returns the files of EFIFiles, with an entry that starts the image with another command line than its own. What it has
// besides is passed on by upgrades.
func EFIFilesWith(program, uki install.Source, id, cmdline string) ([]install.File, error) {
	version, _ := cutFold(id, ukiPrefix, ukiSuffix)
	f, err := withArguments(program, uki, id, version, strings.Fields(cmdline))

	return f.Files, err
}

// withArguments returns the files of EFIFiles, with an entry that starts the image with arguments. It is the default entry until there is a variable
// for that.
func withArguments(program, uki install.Source, id, version string, args []string) (Fresh, error) {
	c := conf{id: strings.TrimSuffix(id, ukiSuffix) + confSuffix, uki: id, options: args}

	text, err := c.text(version)
	if err != nil {
		return Fresh{}, err
	}

	files := EFIFiles(program, uki, id)

	for i, f := range files {
		if f.Path == loaderConfPath {
			files[i].Source = install.Bytes([]byte(loaderConf + "default " + c.id + "\n"))
		}
	}

	entry := install.File{Path: path.Join(confDir, c.id), Source: install.Bytes([]byte(text))}

	return Fresh{Files: slices.Insert(files, len(files)-1, entry), ID: c.id}, nil
}
