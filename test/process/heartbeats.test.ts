import t from 'tap'
import { Heartbeats } from '../../lib/process/heartbeats.ts'

t.test(
  'a silent process is detected, unless the observer itself was stalled',
  async t => {
    const clock = { ms: 0 }
    const silent: string[] = []
    const heartbeats = new Heartbeats<string>(
      5000,
      name => silent.push(name),
      () => clock.ms
    )
    t.teardown(() => heartbeats.stop())
    const pass = (seconds: number, alive: readonly string[]): void => {
      for (let second = 0; second < seconds; second++) {
        clock.ms += 1000
        for (const name of alive) heartbeats.beat(name)
        heartbeats.check()
      }
    }
    heartbeats.watch('one')
    heartbeats.watch('two')
    pass(4, [])
    t.same(silent, [])
    clock.ms += 60_000
    heartbeats.check()
    t.same(silent, [], 'a suspended machine')
    pass(6, ['two'])
    t.same(silent, ['one'])
    pass(20, ['two'])
    t.same(silent, ['one'], 'once')
    heartbeats.forget('two')
    pass(20, [])
    t.same(silent, ['one'])
  }
)
