package e2e

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/store/storetest"
	"tapedeck/test/internal/process"
)

// cluster is a Slurm cluster on this machine, with one node of two processors.
type cluster struct {
	t   *testing.T
	dir string // working directory of jobs
	env []string
	// breakNode kills the node's daemon and, of processes, those that Slurm runs. It starts the daemon again.
	breakNode func(processes []int)
}

// slurmConf is the configuration of Slurm. newCluster replaces the words that begin with $.
const slurmConf = `ClusterName=test
SlurmctldHost=$H(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$D/munge.sock,cred_expire=5
CredType=cred/munge
SlurmctldPort=$CTL
SlurmdPort=$PORT
StateSaveLocation=$D/state
SlurmdSpoolDir=$D/spool
SlurmctldPidFile=$D/slurmctld.pid
SlurmdPidFile=$D/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
JobRequeue=1
KillWait=2
NodeName=$H NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=main Nodes=$H Default=YES MaxTime=INFINITE State=UP
`

// needSlurm skips the test if Slurm is not installed or the test is not root.
func needSlurm(t *testing.T) {
	for _, program := range []string{"munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "sinfo"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed (Debian: slurm-wlm and munge); no script runs on Slurm", program)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("slurmd needs root; no script runs on Slurm")
	}
}

// newCluster starts Slurm. It skips the test if Slurm is not installed or the test is not root.
func newCluster(t *testing.T) *cluster {
	needSlurm(t)
	// The path of a socket must be short, so not t.TempDir.
	dir, err := os.MkdirTemp("", "slurm")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, folder := range []string{"state", "spool"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, folder), 0o755))
	}
	require.NoError(t, os.Chmod(dir, 0o755))
	key := make([]byte, 128)
	for i := range key {
		key[i] = byte(rand.Uint32())
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "munge.key"), key, 0o600))
	host, err := os.Hostname()
	require.NoError(t, err)
	host, _, _ = strings.Cut(host, ".")
	conf := filepath.Join(dir, "slurm.conf")
	require.NoError(t, os.WriteFile(conf, []byte(strings.NewReplacer("$D", dir, "$H", host,
		"$CTL", process.Port(t), "$PORT", process.Port(t)).Replace(slurmConf)), 0o644))
	c := &cluster{t: t, dir: t.TempDir(),
		env: append(os.Environ(), "SLURM_CONF="+conf, "PATH="+bin+":"+os.Getenv("PATH"))}
	start := func(program string, args ...string) *process.Process {
		cmd := exec.Command(program, args...)
		cmd.Env = c.env
		return process.Start(t, cmd)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	start("munged", "--foreground", "--force", "--key-file="+in("munge.key"), "--socket="+in("munge.sock"),
		"--pid-file="+in("munged.pid"), "--log-file="+in("munged.log"), "--seed-file="+in("munged.seed"))
	c.await("munged", func() bool { _, err := os.Stat(in("munge.sock")); return err == nil })
	start("slurmctld", "-D", "-f", conf)
	daemon := start("slurmd", "-D", "-f", conf)
	c.breakNode = func(processes []int) {
		daemon.Kill()
		for _, pid := range processes { // parents first: a parent would report the end of its task
			if step := parentOf(pid); step > 1 {
				_ = syscall.Kill(step, syscall.SIGKILL)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		c.run("scontrol", "update", "NodeName="+host, "State=DOWN", "Reason=killed") // as Slurm does after minutes
		daemon = start("slurmd", "-D", "-f", conf)
		c.await("the node to return", func() bool {
			_ = c.command("scontrol", "update", "NodeName="+host, "State=RESUME").Run()
			out, err := c.command("sinfo", "-h", "-o", "%T").Output()
			return err == nil && !strings.Contains(string(out), "down")
		})
	}
	c.await("an idle node", func() bool {
		out, err := c.command("sinfo", "-h", "-o", "%T").Output()
		return err == nil && strings.TrimSpace(string(out)) == "idle"
	})
	t.Cleanup(func() {
		_ = c.command("scancel", "--user=root").Run()
		c.await("the end of all jobs", func() bool { return c.running("") == 0 })
	})
	return c
}

// command returns a command in the environment of the cluster.
func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	return cmd
}

// run runs a command to its end and returns the output.
func (c *cluster) run(name string, args ...string) string {
	out, err := c.command(name, args...).CombinedOutput()
	require.NoError(c.t, err, "%s: %s", name, out)
	return strings.TrimSpace(string(out))
}

// parentOf returns the parent of a process if the parent is slurmstepd, else 0.
func parentOf(pid int) (parent int) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	var state string
	_, _ = fmt.Sscan(rest, &state, &parent)
	if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", parent)); strings.TrimSpace(string(name)) != "slurmstepd" {
		return 0
	}
	return parent
}

// running returns the number of waiting and running tasks of a job, or of all jobs if job is "".
func (c *cluster) running(job string) int {
	args := []string{"-h", "-r", "-o", "%i"}
	if job != "" {
		args = append(args, "-j", job)
	}
	out, _ := c.command("squeue", args...).Output()
	return len(strings.Fields(string(out)))
}

// await waits until done returns true.
func (c *cluster) await(what string, done func() bool) {
	for deadline := time.Now().Add(process.Patience); !done(); time.Sleep(5 * time.Millisecond) {
		require.True(c.t, time.Now().Before(deadline), "waiting for %s", what)
	}
}

// awaitEnd waits for the end of all tasks of a job. It fails if no task ends within process.Patience.
func (c *cluster) awaitEnd(job string) {
	for left := c.running(job); left > 0; {
		now := left
		c.await("the end of a task", func() bool {
			now = c.running(job)
			return now < left
		})
		left = now
	}
}

// logs returns the output of the tasks of all jobs, by the names of their logs.
func (c *cluster) logs() map[string]string {
	paths, err := filepath.Glob(filepath.Join(c.dir, "convert-*.log"))
	require.NoError(c.t, err)
	all := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(c.t, err)
		all[filepath.Base(path)] = string(text)
	}
	return all
}

// nodeTasks is the number of tasks that the node runs at once.
const nodeTasks = 2

// ofTask matches a line in the log of a task: the number of the task and the process id.
var ofTask = regexp.MustCompile(`task (\d+) of 8 on \S+, process (\d+)\n`)

// TestSlurm runs the script in docs/guide/fleet.md on folders and on prefixes of a store. While tasks convert, it kills
// a task, and then the node, whose tasks Slurm requeues. It submits the job again. The test checks that the outputs
// equal the outputs of a single process, and that no task repeats a conversion of another task.
func TestSlurm(t *testing.T) {
	bucket := storetest.New(t) // before the cluster takes the environment
	c := newCluster(t)
	for name, server := range map[string]*storetest.Server{"folders": nil, "store": bucket} {
		t.Run(name, func(t *testing.T) {
			run := *c
			run.t, run.dir = t, t.TempDir()
			run.convertLogs(server)
		})
	}
}

var recordings = flag.Int("recordings", 40, "number of recordings to convert with Slurm")

// convertLogs converts recordings with Slurm. Unless server is nil, inputs and outputs are in the store.
func (c *cluster) convertLogs(server *storetest.Server) {
	t := c.t
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.logs())
		}
	})
	guide, err := os.ReadFile(filepath.Join(process.Root(), "docs/guide/fleet.md"))
	require.NoError(t, err)
	_, script, found := strings.Cut(string(guide), "```sh\n#!/bin/bash\n")
	require.True(t, found)
	script, _, _ = strings.Cut(script, "```")
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "convert.sh"), []byte("#!/bin/bash\n"+script), 0o755))

	payload := make([]byte, 4_000_000 / *recordings)
	channel := &codec.Channel{Topic: "/bytes", Type: "std_msgs/msg/UInt8MultiArray", Encoding: codec.EncodingCDR}
	for i := range *recordings {
		path := filepath.Join(c.dir, fmt.Sprintf("logs/car%d/%d.mcap", i%3, i))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		w, err := formats.Create(path, codec.CreateOptions{})
		require.NoError(t, err)
		for n := range int64(4) {
			for j := range payload { // random data take long to compress, which leaves time to kill a task
				payload[j] = byte(rand.Uint32()) & 15
			}
			clear(payload[:16])
			payload[1] = 1
			binary.LittleEndian.PutUint32(payload[12:], uint32(len(payload)-16)) // length, after an empty layout
			require.NoError(t, w.Write(&codec.Message{Channel: channel, LogTime: 1e18 + n, Data: payload}))
		}
		require.NoError(t, w.Close())
	}
	at := func(folder string) string { return folder }
	if server != nil {
		at = server.URL
		c.upload(server, "logs")
	}
	options := []string{"--to", "bag", "--compression", "bz2"}
	submit := func() string {
		return c.run("sbatch", append([]string{"--parsable", "convert.sh", at("logs"), at("new")}, options...)...)
	}
	job := submit()
	killed, broken := "", ""
	c.await("two tasks in the middle, or the end", func() bool {
		var running []int
		for name, text := range c.logs() {
			match := ofTask.FindStringSubmatch(text)
			if match == nil || name == killed {
				continue
			}
			pid, err := strconv.Atoi(match[2])
			require.NoError(t, err)
			running = append(running, pid)
			if !strings.Contains(text, `"converted"`) || strings.Count(text, "\n") >= 1+*recordings/8 {
				continue
			}
			if killed == "" {
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
				killed = name
			} else {
				broken = name
			}
		}
		if broken != "" {
			c.breakNode(running)
		}
		return broken != "" || c.running(job) == 0
	})
	require.NotEmpty(t, broken, "all tasks ended before the node could be killed")
	c.awaitEnd(job)
	requeued := 0
	for name, text := range c.logs() {
		if n := len(ofTask.FindAllString(text, -1)); n > 1 {
			t.Logf("%s began %d times", name, n)
			requeued++
		}
	}
	require.Positive(t, requeued, "Slurm requeues the tasks of the node")
	again := submit()
	c.awaitEnd(again)

	counts, other := map[string]int{}, map[string]int{}
	for name, text := range c.logs() {
		for line := range strings.Lines(text) {
			var result struct{ Output, Status string }
			if json.Unmarshal([]byte(line), &result) != nil {
				continue
			}
			if result.Status == "converted" {
				counts[result.Output]++
			} else if strings.Contains(name, "convert-"+again+"_") {
				other[result.Status]++
			}
		}
	}
	for output, n := range counts {
		require.Equal(t, 1, n, output)
	}
	// A line is missing if its task was killed between the conversion and the line.
	require.GreaterOrEqual(t, len(counts), *recordings-1-nodeTasks)
	require.Len(t, other, 1)
	require.Positive(t, other["skipped"])

	c.run(filepath.Join(bin, "converter"), append([]string{"logs", "--output-folder", "one"}, options...)...)
	want := c.contents("one")
	if server == nil {
		require.Equal(t, want, c.contents("new"))
		return
	}
	got := map[string]string{}
	for _, key := range server.Keys() {
		if path, ok := strings.CutPrefix(key, "new/"); ok && !strings.HasPrefix(path, ".converted/") {
			content, _ := server.Content(key)
			got[path] = string(content)
		}
	}
	require.Equal(t, want, got)
	sent := 0
	for _, r := range server.Requests() {
		if r.Method == http.MethodPut && r.Status == http.StatusOK && got[strings.TrimPrefix(r.Key, "new/")] != "" {
			sent++
		}
	}
	t.Logf("%d objects, sent %d times", len(got), sent)
	require.LessOrEqual(t, sent, *recordings+1+nodeTasks, "outputs were sent again, although the manifest has them")
}

// upload puts the files in a folder into a store.
func (c *cluster) upload(server *storetest.Server, folder string) {
	for path, content := range c.contents(folder) {
		server.Put(folder+"/"+path, []byte(content))
	}
}

// contents returns the files in a folder, without the files of the manifest.
func (c *cluster) contents(folder string) map[string]string {
	all := map[string]string{}
	files := os.DirFS(filepath.Join(c.dir, folder))
	require.NoError(c.t, fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(path, ".converted/") {
			return err
		}
		text, err := fs.ReadFile(files, path)
		all[path] = string(text)
		return err
	}))
	require.NotEmpty(c.t, all)
	return all
}
