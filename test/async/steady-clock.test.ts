import t from 'tap'
import { SteadyClock } from '../../lib/async/steady-clock.ts'

const day = 24 * 60 * 60 * 1000

/** A system clock and a monotonic clock that advance together, until the system clock is set. */
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

t.test('a system clock that is a day ahead for a moment is ignored', async t => {
  const { state, pass, startMs } = clocks()
  t.equal(pass(1000), startMs + 1000)
  state.wall += day
  t.equal(pass(30_000), startMs + 31_000)
  state.wall -= day
  t.equal(pass(60_000), startMs + 91_000)
  state.wall += day
  t.equal(pass(30_000), startMs + 121_000, 'a second jump is measured from its own beginning')
})

t.test('a jump ahead is accepted after a minute, a jump back never', async t => {
  const { state, pass, startMs } = clocks()
  state.wall += day
  for (let second = 1; second < 60; second++) t.equal(pass(1000), startMs + second * 1000)
  pass(2000)
  t.equal(pass(1000), startMs + day + 62_000)
  state.wall -= day
  t.equal(pass(300_000), startMs + day + 362_000)
})
