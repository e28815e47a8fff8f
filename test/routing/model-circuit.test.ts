import fc from 'fast-check'
import t from 'tap'
import { ModelCircuit } from '../../lib/routing/model-circuit.ts'
import { clock } from '../support/routes.ts'

/** Replays attempts: `a-` fails for the key a, `a+` succeeds, `a~` is cut off; a number lets seconds pass. */
function play (steps: string): (keyId: string) => string {
  const { now, pass } = clock()
  const circuit = new ModelCircuit()
  for (const step of steps.split(' ').filter(Boolean)) {
    if (/^\d+$/.test(step)) {
      pass(Number(step) * 1000)
      continue
    }
    const [key = '', outcome] = step
    const attempt = circuit.begin(key, now())
    if (outcome === '-') circuit.failed(attempt, now())
    else circuit.succeeded(attempt, now())
    if (outcome === '~') circuit.recordStreamFailure(key, now())
    circuit.ended(attempt)
  }
  return key =>
    circuit.openForMs(key, now()) === undefined
      ? 'goes'
      : `open ${Number(circuit.openForMs(key, now())) / 1000}`
}

const times = (count: number, steps: string): string => `${steps} `.repeat(count)

t.test('failures of one key open the circuit of that key alone', t => {
  for (const [name, steps, a, b] of [
    ['five in a row', times(5, 'a-'), 'open 5', 'goes'],
    ['a hundred', times(100, 'a-'), 'open 5', 'goes'],
    ['answers that are cut off', times(5, 'a~'), 'open 5', 'goes'],
    [
      'with failures of another now and then',
      `${times(9, 'a-')} b- b+ ${times(9, 'a-')} b- b+`,
      'open 5',
      'goes'
    ],
    ['probes as well', `${times(5, 'a-')} 5 a- 10 a- 20 a-`, 'open 40', 'goes'],
    ['until its probe succeeds', `${times(5, 'a-')} 5 a+`, 'goes', 'goes'],
    ['of two keys each its own', times(5, 'a- b-'), 'open 5', 'open 5']
  ] as const) {
    t.same([play(steps)('a'), play(steps)('b')], [a, b], name)
  }
  t.equal(play(times(5, 'a- b-'))('c'), 'goes', 'and none of a third key')
  t.end()
})

t.test('failures of three keys open the circuit for all', t => {
  const steps = 'a- b- c- a- b-'
  for (const key of ['a', 'd']) t.equal(play(steps)(key), 'open 5')
  t.equal(play(`${steps} 5 d+`)('a'), 'goes', 'which the success of any closes')
  t.equal(play(`${steps} 5 d-`)('a'), 'open 10', 'and the failed probe of any extends')
  t.equal(
    play(`a- a- a- ${steps} 5 a- a- d+`)('d'),
    'goes',
    'but a key whose own is open makes no probe for others'
  )
  t.equal(play('a- b- c- d- e-')('f'), 'open 5', 'one failure of each is enough')
  t.end()
})

t.test("one key's failures never block the calls of other keys", async () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('a-', 'a~', 'a+', 'b+', '3', '9'), { maxLength: 200 }),
      steps => play(steps.join(' '))('b') === 'goes'
    )
  )
})
