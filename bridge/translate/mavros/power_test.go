package mavros

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/msgs/sensor_msgs"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
)

// TestBattery compares batteries with BATTERY_STATUS messages.
func TestBattery(t *testing.T) {
	nan := math.NaN()
	voltages := func(mV ...uint16) (v [10]uint16) {
		for i := range v {
			v[i] = 65535
		}
		copy(v[:], mV)
		return v
	}
	system := &common.MessageSysStatus{VoltageBattery: 12587, CurrentBattery: 150, BatteryRemaining: 60}
	for name, test := range map[string]struct {
		m                                         common.MessageBatteryStatus
		voltage, current, percentage, temperature float64
		cells                                     []float32
		status, technology                        uint8
		location                                  string
	}{
		"all unknown": {
			common.MessageBatteryStatus{Temperature: 32767, Voltages: voltages(), CurrentBattery: -1,
				BatteryRemaining: -1},
			12.587, nan, nan, nan, []float32{}, 2, 0, "id0"},
		"second, all unknown": {
			common.MessageBatteryStatus{Id: 1, Temperature: 32767, Voltages: voltages(), CurrentBattery: -1,
				BatteryRemaining: -1},
			nan, nan, nan, nan, []float32{}, 2, 0, "id1"},
		"pack": {
			common.MessageBatteryStatus{Temperature: 2000, Voltages: voltages(12587), CurrentBattery: 1000,
				BatteryRemaining: 100},
			12.587, -10, 1, 20, []float32{}, 2, 0, "id0"},
		"one cell": {
			common.MessageBatteryStatus{Type: common.MAV_BATTERY_TYPE_LION, Temperature: -500, Voltages: voltages(3700),
				CurrentBattery: 0, BatteryRemaining: 0},
			3.7, 0, 0, -5, []float32{3.7}, 2, sensor_msgs.BatteryState_POWER_SUPPLY_TECHNOLOGY_LION, "id0"},
		"charging": {
			common.MessageBatteryStatus{Type: common.MAV_BATTERY_TYPE_NIMH, Temperature: 32767,
				Voltages:         voltages(1200, 1300),
				CurrentBattery:   -200,
				BatteryRemaining: 50, ChargeState: common.MAV_BATTERY_CHARGE_STATE_CHARGING},
			2.5, 2, 0.5, nan, []float32{1.2, 1.3}, 1, sensor_msgs.BatteryState_POWER_SUPPLY_TECHNOLOGY_NIMH, "id0"},
		"twelve cells": {
			common.MessageBatteryStatus{Type: common.MAV_BATTERY_TYPE_LIFE, Temperature: 32767,
				Voltages:    [10]uint16{3000, 3000, 3000, 3000, 3000, 3000, 3000, 3000, 3000, 3000},
				VoltagesExt: [4]uint16{3100, 3200}},
			36.3, 0, 0, nan, []float32{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3.1, 3.2}, 2,
			sensor_msgs.BatteryState_POWER_SUPPLY_TECHNOLOGY_LIFE, "id0"},
		"high voltage": {
			common.MessageBatteryStatus{Temperature: 32767, Voltages: voltages(65534, 4466, 65535, 1)},
			70, 0, 0, nan, []float32{}, 2, 0, "id0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestVehicle(t)
			s.receive(system, &test.m, system)
			want := 2 // SYS_STATUS counts until the first BATTERY_STATUS of battery 0
			if test.m.Id != 0 {
				want = 3
			}
			require.Len(t, s.sent[batteryState], want)
			b := publishedMessage[sensor_msgs.BatteryState](s, batteryState, 1)
			for i, pair := range [][2]float64{
				{test.voltage, float64(b.Voltage)}, {test.current, float64(b.Current)},
				{test.percentage, float64(b.Percentage)},
				{test.temperature, float64(b.Temperature)}, {nan, float64(b.Charge)}, {nan, float64(b.Capacity)},
				{nan, float64(b.DesignCapacity)},
			} {
				if math.IsNaN(pair[0]) {
					require.True(t, math.IsNaN(pair[1]), "number %d", i)
				} else {
					require.InDelta(t, pair[0], pair[1], 1e-5, "number %d", i)
				}
			}
			require.Equal(t, test.cells, b.CellVoltage)
			require.Equal(t, test.status, b.PowerSupplyStatus)
			require.Equal(t, test.technology, b.PowerSupplyTechnology)
			require.Equal(t, test.location, b.Location)
			require.True(t, b.Present)
		})
	}
}

// TestBatteryOfSysStatus checks that SYS_STATUS stands in for BATTERY_STATUS.
func TestBatteryOfSysStatus(t *testing.T) {
	s := newTestVehicle(t)
	s.receive(&common.MessageSysStatus{VoltageBattery: 12587, CurrentBattery: 150, BatteryRemaining: 60},
		&common.MessageSysStatus{VoltageBattery: 65535, CurrentBattery: -1, BatteryRemaining: -1})
	b := publishedMessage[sensor_msgs.BatteryState](s, batteryState, 0)
	require.Equal(t, [3]float32{12.587, -1.5, 0.6}, [3]float32{b.Voltage, b.Current, b.Percentage})
	require.True(t, b.Present)
	require.True(t, math.IsNaN(float64(b.Temperature)))
	s.message(batteryState, 1, &b)
	require.False(t, b.Present)
	for _, f := range []float32{b.Voltage, b.Current, b.Percentage} {
		require.True(t, math.IsNaN(float64(f)))
	}
}
