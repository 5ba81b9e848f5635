// SPDX-License-Identifier: Apache-2.0

package image

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/seed-59268b81/talos/build/artifact"
)

// Aim is the goal for later of the size of the kernel and the initramfs, in bytes.
const Aim = 45_000_000

// Virtual reports whether the release of a kernel is that of Debian's kernel for virtual machines.
func Virtual(release string) bool { return strings.Contains(release, "-cloud-") }

// Budget returns the maximum size in bytes of the kernel and the initramfs.
func Budget(p artifact.Paths) (int64, error) {
	const virtual, full = 65_000_000, 80_000_000

	modules, err := artifact.Modules(p.KernelDir())
	if err != nil {
		return 0, err
	}

	if Virtual(filepath.Base(modules)) {
		return virtual, nil
	}

	return full, nil
}

// size is one line of the report.
type size struct {
	name  string
	bytes int64
}

// PrintSizes prints the sizes of the images and of the largest files in the root image, uncompressed. It returns an
// error if the budget is exceeded.
func PrintSizes(out io.Writer, p artifact.Paths) error {
	images, err := sizesOf([]string{p.Kernel(), p.Initramfs(), p.Root(), p.UKI(), p.Disk()})
	if err != nil {
		return fmt.Errorf("%w (build the images first: make build)", err)
	}

	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(s size) { fmt.Fprintf(t, "%.1f MB\t  %s\n", float64(s.bytes)/1e6, s.name) }

	fmt.Fprintln(t, "images\t")

	for _, s := range images {
		line(s)
	}

	files, err := largest(p.Rootfs(), 12)
	if err != nil {
		return err
	}

	fmt.Fprintln(t, "in the root image, unpacked\t")

	programs, err := sizesOf([]string{p.Bin("talos")})
	if err != nil {
		return err
	}

	for _, s := range append(programs, files...) {
		line(s)
	}

	total := images[0].bytes + images[1].bytes // the initramfs contains the root image

	budget, err := Budget(p)
	if err != nil {
		return err
	}

	fmt.Fprintf(t, "%.1f MB\t  kernel + initramfs + root, budget %d, aim %d\n", float64(total)/1e6, budget/1_000_000, Aim/1_000_000)

	if err := t.Flush(); err != nil {
		return err
	}

	if err := printAbsent(out, p.KernelDir()); err != nil {
		return err
	}

	if total > budget {
		return fmt.Errorf("kernel, initramfs and root: %d bytes, over the budget of %d", total, budget)
	}

	return nil
}

// printAbsent prints the requested modules that the kernel does not have.
func printAbsent(out io.Writer, kernel string) error {
	dir, err := artifact.Modules(kernel)
	if err != nil {
		return err
	}

	set, err := chooseModules(dir, slices.Concat(initramfsModules, evidenceModules, watchdogModules, rootModules))
	if err != nil {
		return err
	}

	if len(set.absent) > 0 {
		slices.Sort(set.absent)
		fmt.Fprintf(out, "kernel %s does not have: %s\n", filepath.Base(dir), strings.Join(slices.Compact(set.absent), " "))
	}

	return nil
}

func sizesOf(paths []string) ([]size, error) {
	var out []size

	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}

		out = append(out, size{filepath.Base(p), info.Size()})
	}

	return out, nil
}

// largest returns the n largest files below a folder. A file with several names has one line.
func largest(dir string, n int) ([]size, error) {
	var (
		out   []size
		files []fs.FileInfo
	)

	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}

		info, err := d.Info()
		if err != nil {
			return err
		}

		name := strings.TrimPrefix(path, dir)
		if i := slices.IndexFunc(files, func(other fs.FileInfo) bool { return os.SameFile(info, other) }); i >= 0 {
			out[i].name += ", " + filepath.Base(name)

			return nil
		}

		files, out = append(files, info), append(out, size{name, info.Size()})

		return nil
	})

	slices.SortFunc(out, func(a, b size) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.name, b.name)) })

	return out[:min(n, len(out))], err
}
