package main

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The events are those of a package whose test fails, one that ends amid a test, one that does not build, one that
// passes and one without tests.
const events = `
{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"--- PASS: TestGood (0.00s)\n"}
{"Action":"pass","Package":"m/a","Test":"TestGood","Elapsed":0.5}
{"Action":"output","Package":"m/a","Test":"TestBad","Output":"bad & worse\n"}
{"Action":"fail","Package":"m/a","Test":"TestBad","Elapsed":0}
{"Action":"output","Package":"m/a","Test":"TestOff","Output":"no samples\n"}
{"Action":"skip","Package":"m/a","Test":"TestOff","Elapsed":0}
{"Action":"output","Package":"m/a","Output":"FAIL\tm/a\t1.000s\n"}
{"Action":"fail","Package":"m/a","Elapsed":1}
{"Action":"start","Package":"m/b"}
{"Action":"output","Package":"m/b","Test":"TestExit","Output":"leaving\n"}
{"Action":"output","Package":"m/b","Output":"FAIL\tm/b\n"}
{"Action":"fail","Package":"m/b","Elapsed":2}
{"ImportPath":"m/c [m/c.test]","Action":"build-output","Output":"undefined: x\n"}
{"ImportPath":"m/c [m/c.test]","Action":"build-fail"}
{"Action":"start","Package":"m/c"}
{"Action":"output","Package":"m/c","Output":"FAIL\tm/c [build failed]\n"}
{"Action":"fail","Package":"m/c","Elapsed":0,"FailedBuild":"m/c [m/c.test]"}
{"Action":"start","Package":"m/d"}
{"Action":"pass","Package":"m/d","Test":"TestGood","Elapsed":0}
{"Action":"output","Package":"m/d","Output":"PASS\n"}
{"Action":"output","Package":"m/d","Output":"ok  \tm/d\n"}
{"Action":"pass","Package":"m/d","Elapsed":3}
{"Action":"start","Package":"m/e"}
{"Action":"skip","Package":"m/e","Elapsed":0}
`

const results = `<testsuites tests="6" failures="1" errors="2" skipped="1">
 <testsuite name="m/a" tests="3" failures="1" errors="0" skipped="1" time="1">
  <testcase classname="m/a" name="TestGood" time="0.5"></testcase>
  <testcase classname="m/a" name="TestBad" time="0">
   <failure message="failed">bad &amp; worse&#xA;</failure>
  </testcase>
  <testcase classname="m/a" name="TestOff" time="0">
   <skipped message="skipped">no samples&#xA;</skipped>
  </testcase>
 </testsuite>
 <testsuite name="m/b" tests="1" failures="0" errors="1" skipped="0" time="2">
  <testcase classname="m/b" name="package" time="0">
   <error message="failed as a whole">FAIL&#x9;m/b&#xA;leaving&#xA;</error>
  </testcase>
 </testsuite>
 <testsuite name="m/c" tests="1" failures="0" errors="1" skipped="0" time="0">
  <testcase classname="m/c" name="package" time="0">
   <error message="failed as a whole">undefined: x&#xA;FAIL&#x9;m/c [build failed]&#xA;</error>
  </testcase>
 </testsuite>
 <testsuite name="m/d" tests="1" failures="0" errors="0" skipped="0" time="3">
  <testcase classname="m/d" name="TestGood" time="0"></testcase>
 </testsuite>
</testsuites>`

func TestCollect(t *testing.T) {
	var out bytes.Buffer
	all, err := collect(strings.NewReader(events), &out)
	require.NoError(t, err)
	text, err := xml.MarshalIndent(all, "", " ")
	require.NoError(t, err)
	require.Equal(t, results, string(text))
	require.Equal(t, "bad & worse\nFAIL\tm/a\t1.000s\nFAIL\tm/b\nundefined: x\nFAIL\tm/c [build failed]\nok  \tm/d\n", out.String())

	_, err = collect(strings.NewReader("not JSON"), &out)
	require.Error(t, err)
}
