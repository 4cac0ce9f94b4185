package mavros

import (
	"math"
	"strconv"

	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/sensor_msgs"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
)

const (
	continued      = unknown16 - 1 // mV; the next element holds the rest of a voltage above 65.534 V
	maxCellVoltage = 4.5           // V
	noTemperature  = math.MaxInt16
)

var nan32 = float32(math.NaN())

// powerState is the state of the autopilot's batteries.
type powerState struct {
	packVoltage float32 // V, by SYS_STATUS
	// batteryStatusAt is the last reception of BATTERY_STATUS for the first battery, in ns since the Unix epoch.
	batteryStatusAt int64

	// Messages. Each publication overwrites them.
	battery sensor_msgs.BatteryState
	system  mavros_msgs.SysStatus
}

// technologies maps MAV_BATTERY_TYPE to constants of sensor_msgs/BatteryState.
var technologies = map[common.MAV_BATTERY_TYPE]uint8{
	common.MAV_BATTERY_TYPE_LIPO: sensor_msgs.BatteryState_POWER_SUPPLY_TECHNOLOGY_LIPO,
	common.MAV_BATTERY_TYPE_LIFE: sensor_msgs.BatteryState_POWER_SUPPLY_TECHNOLOGY_LIFE,
	common.MAV_BATTERY_TYPE_LION: sensor_msgs.BatteryState_POWER_SUPPLY_TECHNOLOGY_LION,
	common.MAV_BATTERY_TYPE_NIMH: sensor_msgs.BatteryState_POWER_SUPPLY_TECHNOLOGY_NIMH,
}

// sendSystem publishes a SYS_STATUS message. It publishes the battery, too, while there is no BATTERY_STATUS.
func (v *Vehicle) sendSystem(m *common.MessageSysStatus) {
	v.system = mavros_msgs.SysStatus{
		Header: v.header(""), SensorsPresent: uint32(m.OnboardControlSensorsPresent),
		SensorsEnabled: uint32(m.OnboardControlSensorsEnabled), SensorsHealth: uint32(m.OnboardControlSensorsHealth),
		Load: m.Load, VoltageBattery: m.VoltageBattery, CurrentBattery: m.CurrentBattery,
		BatteryRemaining: m.BatteryRemaining, DropRateComm: m.DropRateComm, ErrorsComm: m.ErrorsComm,
		ErrorsCount1: m.ErrorsCount1, ErrorsCount2: m.ErrorsCount2, ErrorsCount3: m.ErrorsCount3,
		ErrorsCount4: m.ErrorsCount4,
	}
	v.out.Send(sysStatus, &v.system)
	v.packVoltage = nan32
	if m.VoltageBattery != unknown16 {
		v.packVoltage = float32(float64(m.VoltageBattery) / 1000)
	}
	if v.isRecent(v.batteryStatusAt) {
		return
	}
	v.setBattery(m.CurrentBattery, m.BatteryRemaining)
	v.battery.Voltage, v.battery.Temperature = v.packVoltage, nan32
	v.battery.Present = v.packVoltage > 0
	v.out.Send(batteryState, &v.battery)
}

// batteryStatus publishes a BATTERY_STATUS message.
func (v *Vehicle) batteryStatus(m *common.MessageBatteryStatus) {
	if m.Id == 0 {
		v.batteryStatusAt = v.now
	}
	v.setBattery(m.CurrentBattery, m.BatteryRemaining)
	b := &v.battery
	b.Present = true
	b.PowerSupplyTechnology = technologies[m.Type]
	if m.ChargeState == common.MAV_BATTERY_CHARGE_STATE_CHARGING {
		b.PowerSupplyStatus = sensor_msgs.BatteryState_POWER_SUPPLY_STATUS_CHARGING
	}
	b.Location = "id" + strconv.Itoa(int(m.Id))
	b.Temperature = nan32
	if m.Temperature != noTemperature {
		b.Temperature = float32(float64(m.Temperature) / 100)
	}
	v.setCells(m)
	v.out.Send(batteryState, b)
}

// setBattery resets the battery and sets the values that SYS_STATUS and BATTERY_STATUS have: discharge current in 10 mA
// and charge in percent. -1 means unknown.
func (v *Vehicle) setBattery(current int16, percent int8) {
	v.battery = sensor_msgs.BatteryState{
		Header: v.header(""), Charge: nan32, Capacity: nan32, DesignCapacity: nan32, Current: nan32, Percentage: nan32,
		PowerSupplyStatus: sensor_msgs.BatteryState_POWER_SUPPLY_STATUS_DISCHARGING,
		CellVoltage:       v.battery.CellVoltage[:0],
	}
	if current != -1 {
		v.battery.Current = float32(-float64(current) / 100)
	}
	if percent >= 0 {
		v.battery.Percentage = float32(float64(percent) / 100)
	}
}

// setCells sets the voltages of the battery and of its cells. A single voltage that is too high for a cell is the
// voltage of the battery.
func (v *Vehicle) setCells(m *common.MessageBatteryStatus) {
	b := &v.battery
	sum, carry := 0, 0 // mV
	add := func(mV uint16) {
		carry += int(mV)
		if mV != continued {
			sum += carry
			b.CellVoltage = append(b.CellVoltage, float32(float64(carry)/1000))
			carry = 0
		}
	}
	for _, mV := range m.Voltages {
		if mV == unknown16 {
			break
		}
		add(mV)
	}
	for _, mV := range m.VoltagesExt {
		if mV == unknown16 || mV == 0 {
			break
		}
		add(mV)
	}
	b.Voltage = float32(float64(sum) / 1000)
	switch {
	case len(b.CellVoltage) == 0 && m.Id == 0:
		b.Voltage = v.packVoltage
	case len(b.CellVoltage) == 0:
		b.Voltage = nan32
	case len(b.CellVoltage) == 1 && b.Voltage > maxCellVoltage:
		b.CellVoltage = b.CellVoltage[:0]
	}
}
