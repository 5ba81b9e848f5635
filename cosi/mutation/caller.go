// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
)

// between are the packages between a reader and its state.
var between = []string{"mutation", "typed", "runtime", "transform", "access", "state", "namespaced", "memory", "bolt"}

// caller returns the name of the reader: the innermost function outside the packages in between.
func caller() string {
	var pcs [32]uintptr

	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])

	name := "unknown"

	for {
		f, more := frames.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") {
			name = fmt.Sprintf("%s (%s:%d)", f.Function[strings.LastIndexByte(f.Function, '/')+1:], filepath.Base(f.File), f.Line)
		}

		if !more || !passesOn(f.Function) {
			return name
		}
	}
}

// here is the path of the cosi packages.
var here = strings.TrimSuffix(reflect.TypeFor[Detector]().PkgPath(), "mutation")

func passesOn(function string) bool {
	pkg, ok := strings.CutPrefix(function, here)
	if !ok {
		return false
	}

	for _, b := range between {
		if strings.HasPrefix(pkg, b+".") {
			return true
		}
	}

	return false
}
