// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"bytes"
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/install"
)

// A unified kernel image has its command line inside. One that is started with more arguments, such as those of machine.install or of a lab,
// has a file beside it, in the form of the Boot Loader Specification: it names the image, and has all arguments. Under Secure Boot the
// image ignores them.

const (
	confDir    = "/loader/entries"
	confSuffix = ".conf"
	// maxConf limits the bytes of a file of an entry.
	maxConf = 64 << 10
	// maxHead is the part of an image that has its headers and its command line: the kernel and the initramfs come after it.
	maxHead = 2 << 20
)

// conf is a file of an entry.
type conf struct {
	// id is the name of the file.
	id string
	// uki is the name of the image in ukiDir.
	uki     string
	options []string
}

// confs returns the files of entries that start an image of ours.
func (l SystemdBoot) confs() ([]conf, error) {
	files, err := l.ESP.List(confDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, err
	}

	var out []conf

	for _, f := range files {
		if f.Folder || !strings.EqualFold(path.Ext(f.Name), confSuffix) {
			continue
		}

		b, err := l.ESP.ReadFile(path.Join(confDir, f.Name), maxConf)
		if err != nil {
			return nil, err
		}

		c := parseConf(string(b))
		if _, ours := cutFold(c.uki, ukiPrefix, ukiSuffix); ours {
			c.id = f.Name
			out = append(out, c)
		}
	}

	return out, nil
}

// parseConf reads a file of an entry. Without an image in ukiDir, uki is empty.
func parseConf(text string) (c conf) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}

		switch words[0] {
		case "efi", "linux", "uki":
			c.uki, _ = cutFold(strings.ReplaceAll(words[1], `\`, "/"), ukiDir+"/", "")
		case "options":
			c.options = append(c.options, words[1:]...)
		}
	}

	return c
}

// text returns the content of the file.
func (c conf) text(version string) (string, error) {
	options := strings.Join(c.options, " ")

	if strings.ContainsAny(version+c.uki+options, "\r\n\x00") {
		return "", fmt.Errorf("boot entry %s: its arguments have more than one line", c.id)
	}

	return fmt.Sprintf("title Talos %s\nefi %s\noptions %s\n", version, path.Join(ukiDir, c.uki), options), nil
}

// extra returns the arguments with which the entry that runs, or the default one, is started besides those in its image.
func (l SystemdBoot) extra() ([]string, error) {
	booted, err1 := l.Booted()
	byDefault, err2 := l.Default()

	all, err3 := l.confs()
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}

	for _, id := range []string{booted, byDefault} {
		if i := slices.IndexFunc(all, func(c conf) bool { return c.id == id }); i >= 0 {
			own, err := l.cmdline(all[i].uki)

			return without(all[i].options, own), err
		}

		if id != "" {
			break
		}
	}

	return nil, nil
}

// without returns the words that are not in others, each of which counts once.
func without(words, others []string) (out []string) {
	others = slices.Clone(others)

	for _, w := range words {
		if i := slices.Index(others, w); i >= 0 {
			others = slices.Delete(others, i, i+1)
		} else {
			out = append(out, w)
		}
	}

	return out
}

// cmdline returns the arguments in an image.
func (l SystemdBoot) cmdline(uki string) ([]string, error) {
	r, _, err := l.ESP.Open(path.Join(ukiDir, uki))
	if err != nil {
		return nil, err
	}

	b, err := io.ReadAll(io.LimitReader(r, maxHead))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", uki, err)
	}

	line, err := cmdlineOf(b)
	if err != nil {
		return nil, fmt.Errorf("read the command line in %s: %w", uki, err)
	}

	return strings.Fields(line), nil
}

// cmdlineOf returns the command line in an image, of which b is the start.
func cmdlineOf(b []byte) (string, error) {
	f, err := pe.NewFile(bytes.NewReader(b))
	if err != nil {
		return "", err
	}

	s := f.Section(".cmdline")
	if s == nil {
		return "", nil
	}

	start, size := uint64(s.Offset), uint64(min(s.Size, s.VirtualSize))
	if start+size > uint64(len(b)) {
		return "", fmt.Errorf("it is at byte %d, want the first %d", start, maxHead)
	}

	return strings.TrimRight(string(b[start:start+size]), "\x00\n"), nil
}

// addConf adds the file of an entry for an image, and returns its id.
func (l SystemdBoot) addConf(uki string, s System, extra []string, put func(install.File) error) (string, error) {
	c := conf{id: strings.TrimSuffix(uki, ukiSuffix) + confSuffix, uki: uki, options: append(strings.Fields(s.Cmdline), extra...)}

	text, err := c.text(s.Version)
	if err != nil {
		return "", err
	}

	return c.id, put(install.File{Path: path.Join(confDir, c.id), Source: install.Bytes([]byte(text))})
}
