// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/zstd"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/ociimage"
)

// imageFile is a file of an image.
type imageFile struct {
	mode fs.FileMode
	link string
	// loader and libraries are those that an ELF file needs.
	loader    string
	libraries []string
}

// imageTree is an image with its layers on top of each other, by path without a leading slash.
type imageTree map[string]imageFile

// readBlob reads a JSON blob of a layout.
func readBlob[T any](t *testing.T, layout string, digest v1.Hash) (value T) {
	t.Helper()

	raw, err := os.ReadFile(filepath.Join(layout, "blobs/sha256", digest.Hex))
	if err == nil {
		err = json.Unmarshal(raw, &value)
	}

	if err != nil {
		t.Fatal(err)
	}

	return value
}

func imageConfig(t *testing.T, layout string, image v1.Descriptor) v1.Config {
	t.Helper()

	return readBlob[v1.ConfigFile](t, layout, readBlob[v1.Manifest](t, layout, image.Digest).Config.Digest).Config
}

// eachLayerFile calls visit for each entry of the image's layers, lowest first.
func eachLayerFile(t *testing.T, layout string, image v1.Descriptor, visit func(*tar.Header, io.Reader) error) {
	t.Helper()

	for _, layer := range readBlob[v1.Manifest](t, layout, image.Digest).Layers {
		f, err := os.Open(filepath.Join(layout, "blobs/sha256", layer.Digest.Hex))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()

		z, err := zstd.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()

		for archive := tar.NewReader(z); ; {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}

			if err == nil {
				err = visit(header, archive)
			}

			if err != nil {
				t.Fatalf("layer %s: %v", layer.Digest, err)
			}
		}
	}
}

func readImage(t *testing.T, layout string, image v1.Descriptor) imageTree {
	t.Helper()

	tree := imageTree{}

	eachLayerFile(t, layout, image, func(h *tar.Header, content io.Reader) error {
		name := path.Clean(h.Name)
		if old, ok := tree[name]; ok && old.mode.IsDir() && h.Typeflag == tar.TypeDir {
			return nil
		}

		file := imageFile{mode: h.FileInfo().Mode(), link: h.Linkname}

		raw, err := io.ReadAll(content)
		if err != nil {
			return err
		}

		if bytes.HasPrefix(raw, []byte(elf.ELFMAG)) {
			if file.loader, file.libraries, err = asksFor(raw); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}

		tree[name] = file

		return nil
	})

	return tree
}

func asksFor(raw []byte) (loader string, libraries []string, err error) {
	f, err := elf.NewFile(bytes.NewReader(raw))
	if err != nil {
		return "", nil, err
	}

	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			name, err := io.ReadAll(p.Open())
			if err != nil {
				return "", nil, err
			}

			loader = strings.TrimRight(string(name), "\x00")
		}
	}

	libraries, err = f.ImportedLibraries()

	return loader, libraries, err
}

// resolve follows links, including those of folders in the path, and returns the file's path.
func (tree imageTree) resolve(name string) (string, bool) {
	for range 40 {
		done, rest := "", strings.Split(strings.TrimPrefix(path.Clean("/"+name), "/"), "/")

		var followed bool

		for i, part := range rest {
			done = path.Join(done, part)

			file, ok := tree[done]
			if !ok {
				return "", false
			}

			if file.link != "" {
				target := file.link
				if !path.IsAbs(target) {
					target = path.Join("/", path.Dir(done), target)
				}

				name, followed = path.Join(append([]string{target}, rest[i+1:]...)...), true

				break
			}
		}

		if !followed {
			return done, true
		}
	}

	return "", false
}

// missing returns the loaders and libraries that the image's ELF files need and the image lacks, and its broken links.
func (tree imageTree) missing() []string {
	var problems []string

	for name, file := range tree {
		if file.loader != "" {
			if _, ok := tree.resolve(file.loader); !ok {
				problems = append(problems, fmt.Sprintf("%s asks for the loader %s", name, file.loader))
			}
		}

		for _, library := range file.libraries {
			var found bool

			for _, dir := range []string{"lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib64", path.Dir(name)} {
				if _, ok := tree.resolve(path.Join(dir, library)); ok {
					found = true
				}
			}

			if !found {
				problems = append(problems, fmt.Sprintf("%s needs %s", name, library))
			}
		}

		// Links into mounted folders, such as /proc, are broken before the mount.
		if _, ok := tree.resolve(name); !ok && !strings.HasPrefix(file.link, "/proc/") {
			problems = append(problems, fmt.Sprintf("link %s leads to %s, which is not there", name, file.link))
		}
	}

	return problems
}

// layouts returns the layouts that were built: that of nodes, and that of the conformance tests if it was built.
func layouts(t *testing.T) map[string]string {
	t.Helper()

	p := built(t)
	found := map[string]string{artifact.TargetImages: p.ImageLayout()}

	if _, err := os.Stat(p.ConformanceImageLayout()); err == nil {
		found[artifact.TargetConformanceImages] = p.ConformanceImageLayout()
	}

	return found
}

func TestImagesHaveTheLibrariesOfTheirPrograms(t *testing.T) {
	for target, layout := range layouts(t) {
		index, err := ociimage.ReadIndex(layout)
		if err != nil {
			t.Fatal(err)
		}

		for _, image := range index {
			t.Run(target+"/"+path.Base(image.Annotations[ociimage.RefName]), func(t *testing.T) {
				tree := readImage(t, layout, image)
				if problems := tree.missing(); len(problems) > 0 {
					t.Errorf("the image lacks:\n%s", strings.Join(problems, "\n"))
				}

				config := imageConfig(t, layout, image)
				if start := append(config.Entrypoint, config.Cmd...); len(start) > 0 && !tree.starts(start[0]) {
					t.Errorf("the image starts %s, which it does not have", start[0])
				}
			})
		}
	}
}

// starts reports whether a program exists, by its path or in the search path.
func (tree imageTree) starts(program string) bool {
	candidates := []string{program}

	if !path.IsAbs(program) {
		candidates = nil
		for dir := range strings.SplitSeq(strings.TrimPrefix(searchPath, "PATH="), ":") {
			candidates = append(candidates, path.Join(dir, program))
		}
	}

	for _, c := range candidates {
		if name, ok := tree.resolve(c); ok && tree[name].mode&0o111 != 0 {
			return true
		}
	}

	return false
}

func TestMissing(t *testing.T) {
	const loader = "/lib64/ld-linux-x86-64.so.2"

	program := imageFile{mode: 0o755, loader: loader, libraries: []string{"libc.so.6"}}
	library := imageFile{mode: 0o755}
	whole := func(change func(imageTree)) imageTree {
		tree := imageTree{
			"lib":                                 {link: "usr/lib"},
			"lib64":                               {link: "usr/lib64"},
			"usr":                                 {mode: fs.ModeDir},
			"usr/bin":                             {mode: fs.ModeDir},
			"usr/bin/dig":                         program,
			"usr/lib":                             {mode: fs.ModeDir},
			"usr/lib64":                           {mode: fs.ModeDir},
			"usr/lib64/ld-linux-x86-64.so.2":      {link: "/lib/x86_64-linux-gnu/ld-2.36.so"},
			"usr/lib/x86_64-linux-gnu":            {mode: fs.ModeDir},
			"usr/lib/x86_64-linux-gnu/ld-2.36.so": library,
			"usr/lib/x86_64-linux-gnu/libc.so.6":  library,
		}
		change(tree)

		return tree
	}

	for name, test := range map[string]struct {
		change func(imageTree)
		want   []string
	}{
		"whole":          {func(imageTree) {}, nil},
		"no library":     {func(tree imageTree) { delete(tree, "usr/lib/x86_64-linux-gnu/libc.so.6") }, []string{"usr/bin/dig needs libc.so.6"}},
		"no link":        {func(tree imageTree) { delete(tree, "usr/lib64/ld-linux-x86-64.so.2") }, []string{"usr/bin/dig asks for the loader " + loader}},
		"link to none":   {func(tree imageTree) { tree["usr/bin/nc"] = imageFile{link: "nc.openbsd"} }, []string{"link usr/bin/nc leads to nc.openbsd, which is not there"}},
		"link to itself": {func(tree imageTree) { tree["usr/bin/nc"] = imageFile{link: "nc"} }, []string{"link usr/bin/nc leads to nc, which is not there"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := whole(test.change).missing(); strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
