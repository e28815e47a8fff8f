import t from 'tap'
import { SteadyClock } from '../../lib/async/steady-clock.ts'

const day = 24 * 60 * 60 * 1000

/** A system clock and a monotonic one that go on together, until the first is set. */
function clocks () {
  const state = { wall: 1_763_686_800_000, monotonic: 0 }
  const clock = new SteadyClock(() => state.wall, () => state.monotonic)
  const pass = (ms: number): number => {
    state.wall += ms
    state.monotonic += ms
    return clock.now()
  }
  return { state, clock, pass, startMs: state.wall }
}

t.test('a clock that is a day ahead for a moment changes nothing', async t => {
  const { state, pass, startMs } = clocks()
  t.equal(pass(1000), startMs + 1000)
  state.wall += day
  t.equal(pass(30_000), startMs + 31_000)
  state.wall -= day
  t.equal(pass(60_000), startMs + 91_000)
  state.wall += day
  t.equal(pass(30_000), startMs + 121_000, 'a second time counts anew')
})

t.test('a clock that stays ahead is believed after a minute, and one that goes back never', async t => {
  const { state, pass, startMs } = clocks()
  state.wall += day
  for (let second = 1; second < 60; second++) t.equal(pass(1000), startMs + second * 1000)
  pass(2000)
  t.equal(pass(1000), startMs + day + 62_000)
  state.wall -= day
  t.equal(pass(300_000), startMs + day + 362_000)
})
