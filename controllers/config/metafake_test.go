// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"sync"

	"github.com/seed-59268b81/talos/sys/meta"
)

// metaFake is META.
type metaFake struct {
	mu     sync.Mutex
	values map[meta.Tag]string
	// err is the error of reads and writes.
	err error
	// step is called before each write, if it is set.
	step func() error
}

// fail makes reads and writes fail with an error; nil makes them succeed again.
func (m *metaFake) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.err = err
}

func (m *metaFake) Get(tag meta.Tag) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	if value, ok := m.values[tag]; ok && m.err == nil {
		return []byte(value), nil
	}

	return nil, m.err
}

func (m *metaFake) Set(tag meta.Tag, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()

	if m.err == nil && m.step != nil {
		if err := m.step(); err != nil {
			return err
		}
	}

	if m.err == nil {
		m.values[tag] = string(value)
	}

	return m.err
}

func (m *metaFake) Delete(tag meta.Tag) error {
	m.mu.Lock()
	defer m.mu.Unlock()

	if m.err == nil && m.step != nil {
		if err := m.step(); err != nil {
			return err
		}
	}

	if m.err == nil {
		delete(m.values, tag)
	}

	return m.err
}
