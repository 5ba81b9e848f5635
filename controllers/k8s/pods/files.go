// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
)

// Folder is what a component finds in one of its folders; files that are not listed are removed.
type Folder struct {
	Path string
	UID  int
	// Files by name.
	Files map[string]File
}

// File is one file of a Folder.
type File struct {
	Contents []byte
	Mode     fs.FileMode
}

func private(contents []byte) File { return File{Contents: contents, Mode: 0o400} }

func privateText(contents string) File { return private([]byte(contents)) }

func public(contents []byte) File { return File{Contents: contents, Mode: 0o444} }

// Digest is a short fingerprint of folders: the same contents give the same one, on every node and boot.
func Digest(folders []Folder) string {
	h := sha256.New()

	for _, folder := range folders {
		for _, name := range sortedKeys(folder.Files) {
			file := folder.Files[name]
			fmt.Fprintf(h, "%s/%s %o %d %d\n", folder.Path, name, file.Mode, folder.UID, len(file.Contents))
			h.Write(file.Contents)
		}
	}

	return hex.EncodeToString(h.Sum(nil))[:16]
}
