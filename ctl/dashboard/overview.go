// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/network"
	runtimeres "github.com/seed-59268b81/talos/resources/runtime"
)

// ready reports whether the machine is ready, and whether that is known.
func (n *Node) ready() (ready, known bool) {
	status, ok := spec[runtimeres.MachineStatusSpec](n, runtimeres.MachineStatusID)

	return status.Status.Ready, ok
}

// sideBySide is the least width of a terminal for processes and services next to each other.
const sideBySide = 100

// overview returns the lines of the overview screen.
func (m *model) overview(n *Node, height int) []string {
	lines := m.head(n)
	if n.Answered.IsZero() {
		return lines
	}

	lines = append(lines, "")
	lines = append(lines, m.gauges(n)...)
	lines = append(lines, "")

	rest := height - len(lines)
	if rest < 2 {
		return lines
	}

	services := servicesTable(n.Services)

	if m.width < sideBySide {
		upper := min(len(services), rest/2)
		lines = append(lines, services[:upper]...)
		lines = append(lines, "")

		return append(lines, m.processTable(n, rest-upper-1, m.width)...)
	}

	right := 54
	left := m.width - right - 3

	return append(lines, beside(faint.Styled(" │ "), box(m.processTable(n, rest, left), left, rest), box(services, right, rest))...)
}

// head returns the identity and the state of the machine.
func (m *model) head(n *Node) []string {
	host, _ := spec[network.HostnameStatusSpec](n, network.HostnameID)
	parts := []string{bold.Styled(clean(cmp.Or(host.Hostname, n.Name)))}

	if n.Version != nil {
		parts = append(parts, clean(n.Version.GetTag()), clean(n.Version.GetArch()))
	}

	if role := n.Resources[machineType][config.MachineTypeID]; role != nil {
		parts = append(parts, clean(strings.TrimSpace(role.GetSpec().GetYamlSpec())))
	}

	if boot := n.Stat.GetBootTime(); boot > 0 {
		parts = append(parts, "up "+sinceText(m.now().Sub(time.Unix(int64(boot), 0)))) // seconds since 1970
	}

	lines := []string{" " + strings.Join(parts, "  ")}
	status, known := spec[runtimeres.MachineStatusSpec](n, runtimeres.MachineStatusID)

	switch {
	case known && status.Status.Ready:
		lines = append(lines, " "+good.Styled("READY")+"  "+status.Stage.String())
	case known:
		lines = append(lines, " "+warning.Styled("NOT READY")+"  "+status.Stage.String())
		for _, unmet := range status.Status.UnmetConditions {
			lines = append(lines, "   "+warning.Styled(clean(unmet.Name))+": "+clean(unmet.Reason))
		}
	}

	if n.dead() {
		lines = append(lines, " "+bad.Styled("NO ANSWER")+m.lastAnswer(n))
	}

	for i, p := range n.problems() {
		if i == 2 {
			break
		}

		lines = append(lines, "   "+bad.Styled(p.cause))
		if p.try != "" {
			lines = append(lines, faint.Styled("   try: "+p.try))
		}
	}

	return lines
}

func (m *model) lastAnswer(n *Node) string {
	if n.Answered.IsZero() {
		return "  yet"
	}

	return "  the last one " + sinceText(m.now().Sub(n.Answered)) + " ago"
}

// gauges returns the lines about CPU, memory and load.
func (m *model) gauges(n *Node) []string {
	const label, numbers = 6, 24

	width := max(10, min(60, m.width-label-numbers-4))

	var cpu float64
	if len(n.CPU) > 0 {
		cpu = n.CPU[len(n.CPU)-1]
	}

	total, available := n.Memory.GetMemtotal()*1024, n.Memory.GetMemavailable()*1024
	used := total - min(total, available)

	var share float64
	if total > 0 {
		share = float64(used) / float64(total)
	}

	return []string{
		fmt.Sprintf(" %-*s%s %3.0f%% of %d CPUs", label, "CPU", bar(cpu, width), cpu*100, len(n.Stat.GetCpu())),
		fmt.Sprintf(" %-*s%s", label, "", faint.Styled(spark(n.CPU, width))),
		fmt.Sprintf(" %-*s%s %s of %s", label, "Mem", bar(share, width), bytesText(used), bytesText(total)),
		fmt.Sprintf(" %-*s%.2f %.2f %.2f   %d processes, %d running, %d blocked", label, "Load",
			n.Load.GetLoad1(), n.Load.GetLoad5(), n.Load.GetLoad15(), len(n.Processes), n.Stat.GetProcessRunning(), n.Stat.GetProcessBlocked()),
	}
}

func (m *model) processTable(n *Node, height, width int) []string {
	rows := make([][]string, len(n.Processes))

	for i, p := range n.Processes {
		rows[i] = []string{
			fmt.Sprintf("%7d", p.GetPid()), clean(p.GetState()), fmt.Sprintf("%5.1f", p.cpu*100), fmt.Sprintf("%10s", bytesText(p.GetResidentMemory())),
			fmt.Sprintf("%3d", p.GetThreads()), clean(cmp.Or(p.GetArgs(), p.GetCommand(), p.GetExecutable())),
		}
	}

	return choose(table([]string{"    PID", "S", " CPU%", "    MEMORY", "THR", "COMMAND"}, rows), &m.processes, width, height)
}

func servicesTable(services []*machine.ServiceInfo) []string {
	sorted := slices.SortedFunc(slices.Values(services), func(a, b *machine.ServiceInfo) int { return strings.Compare(a.GetId(), b.GetId()) })
	rows := make([][]string, len(sorted))

	for i, s := range sorted {
		health, style := "?", faint

		switch h := s.GetHealth(); {
		case h == nil, h.GetUnknown():
		case h.GetHealthy():
			health, style = "OK", good
		default:
			health, style = "FAIL", bad
		}

		last := ""
		if events := s.GetEvents().GetEvents(); len(events) > 0 {
			last = clean(events[len(events)-1].GetMsg())
		}

		if health == "FAIL" {
			last = clean(s.GetHealth().GetLastMessage())
		}

		rows[i] = []string{clean(s.GetId()), clean(s.GetState()), style.Styled(health), last}
	}

	return table([]string{"SERVICE", "STATE", "HEALTH", "LAST"}, rows)
}
