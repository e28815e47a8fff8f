import fc from 'fast-check'
import t from 'tap'
import { Breaker, type CircuitAttempt } from '../../lib/routing/breaker.ts'
import { clock } from '../support/routes.ts'

t.test('a circuit', async t => {
  /**
   * Replays attempts: `f` fails, `s` succeeds, `c` succeeds and is cut off, `-` ends without a result; a
   * number lets seconds pass.
   */
  const play = (steps: string): string => {
    const { now, pass } = clock()
    const breaker = new Breaker()
    for (const step of steps.split(' ')) {
      if (/\d/.test(step)) {
        pass(Number(step) * 1000)
        continue
      }
      const attempt = breaker.begin(now())
      if (step === 'f') breaker.failed(attempt, now())
      if (step === 's' || step === 'c') breaker.succeeded(attempt, now())
      if (step === 'c') breaker.recordStreamFailure(now())
      breaker.ended(attempt)
    }
    const forMs = breaker.openForMs(now())
    return forMs === undefined ? 'goes' : `open ${forMs / 1000}`
  }
  const half = 'f s '.repeat(9)
  for (const [name, steps, expected] of [
    ['four failures are not enough', 'f f f f', 'goes'],
    ['the fifth in a row opens it', 'f f f f f', 'open 5'],
    ['a success in between begins anew', 'f f f f s f f f f', 'goes'],
    ['half of twenty opens it', `${half}s f`, 'open 5'],
    ['half of nineteen does not', `${half}s`, 'goes'],
    ['less than half does not', `${half}s s s f`, 'goes'],
    ['what ends without a word does not count', 'f f f f - f', 'open 5'],
    ['an answer that is cut off is no success', 'c c c c c', 'open 5'],
    ['of several the newest', 's s f f f c c', 'open 5'],
    ['also of a probe', 'f f f f f 5 c f f f', 'goes'],
    ['a minute of silence is forgotten', 'f f f f 61 f', 'goes'],
    ['a minute with attempts is not', 'f f 50 f f 50 f', 'open 5'],
    ['it stays open until the time is over', 'f f f f f 4', 'open 1'],
    ['a call may try when the time is over', 'f f f f f 5', 'goes'],
    ['a call that succeeds closes it', 'f f f f f 5 s', 'goes'],
    ['a closed circuit has forgotten earlier failures', 'f f f f f 5 s f f f f', 'goes'],
    ['a call that fails opens it for twice the time', 'f f f f f 5 f', 'open 10'],
    ['a second failed probe doubles the time again', 'f f f f f 5 f 10 f', 'open 20'],
    ['it never stays open for more than a minute', 'f f f f f 5 f 10 f 20 f 40 f 60 f', 'open 60'],
    ['after a success the time is five seconds again', 'f f f f f 5 f 10 s f f f f f', 'open 5'],
    ['a probe without an outcome leaves room for another', 'f f f f f 5 -', 'goes'],
    ['a call that had no choice may close it', 'f f f f f s', 'goes'],
    ['a failure before the time is over changes nothing', 'f f f f f 4 f', 'open 1']
  ] as const) t.equal(play(steps), expected, name)

  t.test('lets one probe through at a time', async t => {
    const { now, pass } = clock()
    const breaker = new Breaker()
    const late = breaker.begin(now())
    for (let count = 0; count < 5; count++) breaker.failed(breaker.begin(now()), now())
    breaker.succeeded(late, now())
    t.equal(breaker.openForMs(now()), 5000, 'what began before it opened says nothing any more')
    pass(5000)
    const probe = breaker.begin(now())
    t.same([probe.isProbe, breaker.openForMs(now())], [true, 0])
    const other = breaker.begin(now())
    breaker.ended(other)
    t.same([other.isProbe, breaker.openForMs(now())], [false, 0], 'one that had no choice is none')
    breaker.ended(probe)
    t.equal(breaker.openForMs(now()), undefined)
  })

  t.test('never stays open forever', async () => {
    fc.assert(fc.property(fc.array(fc.constantFrom('f', 's', '-', 'begin', '1', '9')), steps => {
      const { now, pass } = clock()
      const breaker = new Breaker()
      const under: CircuitAttempt[] = []
      for (const step of steps) {
        if (step === '1' || step === '9') pass(Number(step) * 1000)
        else if (step === 'begin') under.push(breaker.begin(now()))
        else {
          const attempt = under.shift()
          if (attempt === undefined) continue
          if (step === 'f') breaker.failed(attempt, now())
          if (step === 's') breaker.succeeded(attempt, now())
          breaker.ended(attempt)
        }
      }
      for (const attempt of under) breaker.ended(attempt)
      pass(60_000)
      return breaker.openForMs(now()) === undefined
    }))
  })
})
