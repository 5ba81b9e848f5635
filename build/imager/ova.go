// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/template"
)

// The names of the files in an archive of a virtual machine, and the version of VMware's hardware that it needs (of ESXi 6.7 U2 and later).
const (
	ovaName     = "talos"
	ovaDisk     = ovaName + ".vmdk"
	ovaHardware = 15
)

// ovf describes the virtual machine (Open Virtualization Format 1.1, DMTF DSP0243), with the devices that the kernel has drivers for and
// the property that a platform reads the machine configuration from.
//
//go:embed ova.ovf.tmpl
var ovf string

var ovfTemplate = template.Must(template.New("ovf").Parse(ovf))

// writeOVA writes an archive with a virtual machine, whose disk has size bytes: the description, the hashes of the other files, the disk.
func writeOVA(to *os.File, from source, size int64) error {
	// The description has the size of the disk's file, and goes before it.
	vmdk, err := os.CreateTemp(filepath.Dir(to.Name()), "*.vmdk")
	if err != nil {
		return err
	}
	defer vmdk.Close()

	if err := os.Remove(vmdk.Name()); err != nil {
		return err
	}

	if err := writeVMDK(vmdk, from, size); err != nil {
		return err
	}

	packed, err := vmdk.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}

	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(vmdk, 0, packed)); err != nil {
		return err
	}

	var description bytes.Buffer

	if err := ovfTemplate.Execute(&description, map[string]any{
		"Name": ovaName, "Disk": ovaDisk, "Hardware": ovaHardware, "Capacity": size, "Packed": packed,
	}); err != nil {
		return err
	}

	manifest := fmt.Appendf(nil, "SHA256(%s.ovf)= %x\nSHA256(%s)= %x\n", ovaName, sha256.Sum256(description.Bytes()), ovaDisk, hash.Sum(nil))

	archive := tar.NewWriter(to)

	for _, f := range []struct {
		name string
		size int64
		from io.Reader
	}{
		{ovaName + ".ovf", int64(description.Len()), &description},
		{ovaName + ".mf", int64(len(manifest)), bytes.NewReader(manifest)},
		{ovaDisk, packed, io.NewSectionReader(vmdk, 0, packed)},
	} {
		// The format is that which OVF asks for.
		if err := archive.WriteHeader(&tar.Header{Name: f.name, Size: f.size, Mode: 0o644, ModTime: fixed, Format: tar.FormatUSTAR}); err != nil {
			return err
		}

		if _, err := io.Copy(archive, f.from); err != nil {
			return err
		}
	}

	return archive.Close()
}
