// SPDX-License-Identifier: Apache-2.0

package reference

import (
	_ "embed"
	"reflect"
	"strings"
	"sync"
)

// CommentsFile is where the texts are, in the folder of this package.
const CommentsFile = "comments.txt"

//go:embed comments.txt
var embedded string

// comments are texts by "PACKAGE.TYPE" and "PACKAGE.TYPE.FIELD"; the package is its folder below config.
var comments = sync.OnceValue(func() map[string]string {
	all := map[string]string{}

	for line := range strings.Lines(embedded) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		all[name] = text
	}

	return all
})

// configFolder is the import path of the packages with types of documents, without the module.
const configFolder = "/config/"

// comment returns the text of a type, or of a field of it.
func comment(t reflect.Type, field string) string {
	_, folder, _ := strings.Cut(t.PkgPath(), configFolder)

	name := folder + "." + t.Name()
	if field != "" {
		name += "." + field
	}

	return comments()[name]
}
