// SPDX-License-Identifier: Apache-2.0

//go:build linux

package installation

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/value"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/expression"
	"github.com/seed-59268b81/talos/resources/block"
)

// matcher reports whether a disk is meant.
type matcher func(block.DiskSpec) (bool, error)

// meant returns what tells the disk that the configuration means from others. resolve follows symbolic links.
func meant(want *view.Install, resolve func(string) (string, error)) (matcher, error) {
	switch {
	case want.Match != "":
		p, err := expression.Compile(want.Match, variables(block.DiskSpec{}))
		if err != nil {
			return nil, fmt.Errorf("UnattendedInstallConfig.provisioning.diskSelector.match: %w", err)
		}

		return func(d block.DiskSpec) (bool, error) { return p.Matches(variables(d)) }, nil
	case want.Selector != (view.InstallDiskSelector{}):
		return selected(want.Selector)
	default:
		at, err := resolve(want.Disk)
		if err != nil {
			return nil, fmt.Errorf("machine.install.disk: %w", err)
		}

		return func(d block.DiskSpec) (bool, error) { return d.DevPath == at, nil }, nil
	}
}

// units are the variables of expressions for sizes.
var units = map[string]uint64{
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50,
	"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15,
}

// variables are those of an expression over a disk. No disk is the system disk of a machine that is on none.
func variables(d block.DiskSpec) map[string]any {
	all := map[string]any{
		"disk.size": d.Size, "disk.pretty_size": d.PrettySize, "disk.io_size": uint64(d.IOSize), "disk.sector_size": uint64(d.SectorSize),
		"disk.readonly": d.Readonly, "disk.model": d.Model, "disk.serial": d.Serial, "disk.modalias": d.Modalias, "disk.wwid": d.WWID,
		"disk.bus_path": d.BusPath, "disk.sub_system": d.SubSystem, "disk.transport": d.Transport, "disk.rotational": d.Rotational,
		"disk.cdrom": d.CDROM, "disk.dev_path": d.DevPath, "disk.secondary_disks": list(d.SecondaryDisks), "disk.uuid": d.UUID,
		"disk.symlinks": list(d.Symlinks), "disk.firmware_version": d.FirmwareVersion,
		"system_disk": false,
	}

	for name, size := range units {
		all[name] = size
	}

	return all
}

// list is never nil, so that it has the type of a list.
func list(all []string) []string { return append([]string{}, all...) }

// selected returns the matcher of a selector: all of its properties must match, texts as patterns.
func selected(s view.InstallDiskSelector) (matcher, error) {
	size, err := sized(s.Size)
	if err != nil {
		return nil, err
	}

	kind := strings.ToLower(s.Type)
	if !slices.Contains([]string{"", "ssd", "hdd", "nvme", "sd"}, kind) {
		return nil, fmt.Errorf("machine.install.diskSelector.type: %q is not one of ssd, hdd, nvme, sd", s.Type)
	}

	texts := func(d block.DiskSpec) map[string]string {
		return map[string]string{
			s.Name: filepath.Base(d.DevPath), s.Model: d.Model, s.Serial: d.Serial, s.Modalias: d.Modalias, s.UUID: d.UUID, s.WWID: d.WWID,
			s.BusPath: d.BusPath,
		}
	}

	return func(d block.DiskSpec) (bool, error) {
		if !size(d.Size) || kind != "" && kind != kindOf(d) {
			return false, nil
		}

		for pattern, text := range texts(d) {
			if pattern == "" {
				continue
			}

			if match, err := path.Match(flat(pattern), flat(text)); err != nil || !match {
				return false, err
			}
		}

		return true, nil
	}, nil
}

// flat makes * match slashes, too, which paths of a bus have.
func flat(text string) string { return strings.ReplaceAll(text, "/", "\x00") }

// kindOf returns the type of a disk as selectors name it.
func kindOf(d block.DiskSpec) string {
	switch {
	case d.Transport == "nvme":
		return "nvme"
	case d.Transport == "mmc":
		return "sd"
	case d.Rotational:
		return "hdd"
	default:
		return "ssd"
	}
}

// sized parses an operator and a size, such as >= 100GB.
func sized(text string) (func(size uint64) bool, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return func(uint64) bool { return true }, nil
	}

	operator := text[:len(text)-len(strings.TrimLeft(text, "<>="))]

	var want value.ByteSize
	if err := want.UnmarshalText([]byte(strings.TrimSpace(text[len(operator):]))); err != nil {
		return nil, fmt.Errorf("machine.install.diskSelector.size: %w", err)
	}

	accept := map[string][]int{"": {0}, "==": {0}, "<": {-1}, "<=": {-1, 0}, ">": {1}, ">=": {1, 0}}[operator]
	if accept == nil {
		return nil, fmt.Errorf("machine.install.diskSelector.size: %q is not an operator: want one of ==, <, <=, >, >=", operator)
	}

	return func(size uint64) bool { return slices.Contains(accept, cmp.Compare(size, uint64(want))) }, nil
}
