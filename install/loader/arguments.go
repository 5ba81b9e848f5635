// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"path"
	"strings"

	"github.com/seed-59268b81/talos/install"
)

// EFIFilesWith returns the files of EFIFiles, with an entry that starts the image with another command line than its own. What it has
// besides is passed on by upgrades. It is the default entry until there is a variable for that.
func EFIFilesWith(program, uki install.Source, id, cmdline string) ([]install.File, error) {
	version, _ := cutFold(id, ukiPrefix, ukiSuffix)
	c := conf{id: strings.TrimSuffix(id, ukiSuffix) + confSuffix, uki: id, options: strings.Fields(cmdline)}

	text, err := c.text(version)
	if err != nil {
		return nil, err
	}

	files := EFIFiles(program, uki, id)

	for i, f := range files {
		if f.Path == loaderConfPath {
			files[i].Source = install.Bytes([]byte(loaderConf + "default " + c.id + "\n"))
		}
	}

	return append(files, install.File{Path: path.Join(confDir, c.id), Source: install.Bytes([]byte(text))}), nil
}
