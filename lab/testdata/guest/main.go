// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command guest is the whole user space of the machines that the lab's own test boots: it takes a lease, and then
// reports over HTTP on port 50000 what it sees of its network.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	if err := run(); err != nil {
		fmt.Println("guest failed:", err)
		time.Sleep(time.Hour) // the end of init would be a kernel panic
	}
}

// poweroff waits for a container's power button, and powers off.
func poweroff() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	<-asked

	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func run() error {
	go poweroff()

	if os.Getenv("PLATFORM") != "container" {
		if err := begin(); err != nil {
			return err
		}
	}

	return serve()
}

// begin mounts the file systems of a virtual machine and loads its modules.
func begin() error {
	for _, m := range []struct{ source, target string }{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}} {
		if err := os.MkdirAll(m.target, 0o755); err != nil {
			return err
		}

		if err := unix.Mount(m.source, m.target, m.source, 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.target, err)
		}
	}

	return loadModules()
}

func serve() error {
	lease, err := takeLease("eth0")
	if err != nil {
		return err
	}

	if err := lease.use(); err != nil {
		return err
	}

	lease.Uptime = uptime()
	fmt.Printf("guest: %s has %s after %v\n", lease.Hostname, lease.Addr, lease.Uptime)

	http.HandleFunc("GET /lease", func(w http.ResponseWriter, _ *http.Request) { answer(w, lease) })
	http.HandleFunc("GET /cards", func(w http.ResponseWriter, _ *http.Request) { answer(w, cards()) })
	http.HandleFunc("GET /cards/{card}/lease", func(w http.ResponseWriter, r *http.Request) {
		lease, err := takeLease(r.PathValue("card"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)

			return
		}

		answer(w, lease)
	})
	http.HandleFunc("GET /look", func(w http.ResponseWriter, r *http.Request) { answer(w, lease.look(r.FormValue("peer"))) })
	http.HandleFunc("GET /ping", func(w http.ResponseWriter, r *http.Request) { answer(w, ping(r.FormValue("to"))) })
	http.HandleFunc("GET /read", func(w http.ResponseWriter, r *http.Request) { answer(w, readAll(r.FormValue("from"))) })
	http.HandleFunc("GET /confined", func(w http.ResponseWriter, _ *http.Request) { answer(w, confined()) })
	http.HandleFunc("POST /reboot", func(http.ResponseWriter, *http.Request) {
		_ = unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
	})
	http.HandleFunc("POST /poweroff", func(http.ResponseWriter, *http.Request) {
		_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	})
	http.HandleFunc("POST /panic", func(http.ResponseWriter, *http.Request) {
		go panic("asked to")
		runtime.Gosched()
	})

	return http.ListenAndServe(":50000", nil)
}

func answer(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

// loadModules loads /modules/*.ko in the order of /modules/order.
func loadModules() error {
	order, err := os.ReadFile("/modules/order")
	if err != nil {
		return err
	}

	for _, name := range strings.Fields(string(order)) {
		file, err := os.Open("/modules/" + name)
		if err != nil {
			return err
		}

		if err := unix.FinitModule(int(file.Fd()), "", 0); err != nil && err != syscall.EEXIST {
			return fmt.Errorf("load %s: %w", name, err)
		}

		_ = file.Close()
	}

	return nil
}

func uptime() time.Duration {
	var ts unix.Timespec

	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)

	return time.Duration(ts.Nano()).Round(time.Millisecond)
}
