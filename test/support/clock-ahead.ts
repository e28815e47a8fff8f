/** Sets the clock of the process that loads it ahead, as `node --import …/clock-ahead.js` does. */

const aheadMs = Number(process.env['HEADGATE_TEST_CLOCK_AHEAD_MS'])

const SystemDate = Date

globalThis.Date = class extends SystemDate {
  static override now (): number {
    return SystemDate.now() + aheadMs
  }

  constructor (value: string | number | Date = SystemDate.now() + aheadMs) {
    super(value)
  }
} as DateConstructor // no part of a gateway calls it without `new`, or with more than one value
