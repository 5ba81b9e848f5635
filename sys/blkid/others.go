// SPDX-License-Identifier: Apache-2.0

package blkid

import "github.com/seed-59268b81/talos/sys/gpt"

func probeGPT(i image) (*Info, error) {
	if i.sectorSize == 0 {
		return nil, nil
	}

	// The signature comes first: reading the backup at the end takes long on a slow disk.
	b, err := i.at(i.sectorSize, 8)
	if err != nil || b == nil {
		return nil, err
	}

	if string(b) != "EFI PART" {
		// If only the primary copy is damaged, there is still a protective MBR. Then the backup is read.
		mbr, err := i.at(0, 512)
		if err != nil || mbr == nil || mbr[510] != 0x55 || mbr[511] != 0xaa || mbr[450] != 0xee {
			return nil, err
		}
	}

	table, err := gpt.Read(i.r, i.size, i.sectorSize)
	if err != nil {
		return nil, nil // a table that cannot be read does not count
	}

	return &Info{Name: GPT, UUID: table.ID.String(), Size: i.size, SectorSize: uint32(i.sectorSize), Table: table}, nil
}

func probeLUKS(i image) (*Info, error) {
	b, err := i.at(0, 512)
	if err != nil || b == nil || string(b[:6]) != "LUKS\xba\xbe" {
		return nil, err
	}

	info := &Info{Name: LUKS, UUID: text(b[168:208])}
	if be.Uint16(b[6:]) == 2 {
		info.Label = text(b[24:72])
	}

	return info, nil
}

func probeSwap(i image) (*Info, error) {
	const page = 4096

	b, err := i.at(0, page)
	if err != nil || b == nil || string(b[page-10:]) != "SWAPSPACE2" {
		return nil, err
	}

	return &Info{
		Name: Swap, Label: text(b[1052:1068]), UUID: uuid(b[1036:1052]),
		Size: (uint64(le.Uint32(b[1028:])) + 1) * page, BlockSize: page,
	}, nil
}
