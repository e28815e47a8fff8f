import t from 'tap'
import { BodyRecorder } from '../../lib/bodies/body-recorder.ts'
import { receivedCall } from '../support/stages.ts'
import { usageRowOf } from '../support/usage.ts'
import type { NewCallBodies } from '../../lib/stores/call-body-store.ts'
import type { Call } from '../../lib/core/call.ts'
import { settings } from '../support/settings.ts'
import type { Settings } from '../../lib/core/settings.ts'

const { endUsers } = settings()

const calls: Settings['calls'] = {
  keptMemoryBytes: 10_000,
  keepBodies: ['Support', 'project_b', '*'].map((project, index) => ({
    project,
    keepMs: index + 1,
    maxBytes: 1024,
    redact: { fields: [], patterns: [] },
    readableBy: 'admin' as const
  }))
}

interface Place {
  readonly recorder: BodyRecorder
  readonly stored: NewCallBodies[]
  readonly failures: unknown[]
  /** Ends a call of a key with this request body. */
  readonly end: (request: string, project?: { readonly id: string, readonly name: string }) => Call
}

function start (add: (bodies: NewCallBodies) => Promise<void>): Place {
  const [stored, failures]: [NewCallBodies[], unknown[]] = [[], []]
  const recorder = new BodyRecorder({
    add: async bodies => {
      await add(bodies)
      stored.push(bodies)
    }
  }, { maxMemoryBytes: () => calls.keptMemoryBytes, onFailure: error => failures.push(error) })
  const capture = recorder.capturing({ ...calls, endUsers }, [])
  return {
    recorder,
    stored,
    failures,
    end: (request, project) => {
      const call = receivedCall({})
      call.record.bodies = capture(
        { id: 'key', name: 'key', ...project !== undefined && { project } },
        'chat'
      )
      call.record.bodies?.takeRequest([Buffer.from(request)])
      recorder.end(call, usageRowOf(stored.length))
      return call
    }
  }
}

t.test('the rule of a project is found by its id or name, then the rule for all others', async t => {
  const { recorder, stored, end } = start(async () => undefined)
  t.equal(end('{}').record.bodies, undefined, 'a call that has ended holds no body')
  end('{}', { id: 'project_a', name: 'Support' })
  end('{}', { id: 'project_b', name: 'Else' })
  end('{}', { id: 'project_c', name: 'Other' })
  await recorder.flush()
  t.same(
    stored.map(({ project_id: id, expires_at_ms: atMs }) => [id, atMs % 10]),
    [
      ['default', 3],
      ['project_a', 1],
      ['project_b', 2],
      ['project_c', 3]
    ]
  )
  t.equal(
    recorder.capturing({ endUsers, keepBodies: [] }, [])({ id: 'key', name: 'key' }, 'chat'),
    undefined
  )
  t.equal(recorder.capturing({ ...calls, endUsers }, [])({ id: 'key', name: 'key' }, 'models'), undefined)
})

t.test('when end users are hashed, fields that name them are redacted', async t => {
  const stored: NewCallBodies[] = []
  const recorder = new BodyRecorder(
    { add: async bodies => { stored.push(bodies) } },
    { maxMemoryBytes: () => 10_000, onFailure: error => t.fail(String(error)) }
  )
  const body = { user: 'ada', metadata: { user_id: 'ada' }, safety_identifier: 'ada', messages: 'by ann' }
  for (const store of ['as_given', 'hashed'] as const) {
    const call = receivedCall({})
    call.record.bodies = recorder.capturing({ ...calls, endUsers: { store, required: false } }, [])(
      { id: 'key', name: 'key' }, 'chat'
    )
    call.record.bodies?.takeRequest([Buffer.from(JSON.stringify(body))])
    recorder.end(call, usageRowOf(1))
  }
  await recorder.flush()
  const texts = stored.map(({ request }) => request?.text)
  t.equal(texts[0], JSON.stringify(body))
  t.same(JSON.parse(texts[1] ?? ''), {
    user: '[redacted]',
    metadata: { user_id: '[redacted]' },
    safety_identifier: '[redacted]',
    messages: 'by ann'
  })
})

t.test(
  'while the store is slow, bodies beyond the memory limit are dropped; queued ones are stored on close',
  async t => {
    let release = (): void => undefined
    const released = new Promise<void>(resolve => {
      release = resolve
    })
    const { recorder, stored, end } = start(async () => await released)
    for (let number = 0; number < 10; number++) end('x'.repeat(2000))
    t.equal(recorder.dropped, 7)
    release()
    await recorder.close()
    t.same(
      stored.map(({ state }) => state),
      [...Array(3).fill('kept'), ...Array(7).fill('dropped')]
    )
    end('x'.repeat(2000))
    await recorder.flush()
    t.match(stored.at(-1), { state: 'kept', request: { size_bytes: 2000 } })
  }
)

t.test('a failing store is reported once, and calls continue', async t => {
  let fails = true
  const { recorder, failures, end } = start(async () => { if (fails) throw new Error('full') })
  for (let number = 0; number < 3; number++) end('{}')
  await recorder.flush()
  t.equal(failures.length, 1)
  t.equal(recorder.dropped, 3)
  fails = false
  end('{}')
  await recorder.flush()
  fails = true
  end('{}')
  await recorder.flush()
  t.equal(failures.length, 2)
})

t.test('a call that ends at any moment while the previous one is being stored is stored too', async t => {
  for (let turns = 0; turns < 12; turns++) {
    let ready: () => void = () => t.fail('nothing is stored')
    const first = new Promise<void>(resolve => { ready = resolve })
    const { recorder, stored, end } = start(async () => await first)
    end('{"number":1}')
    ready()
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    end('{"number":2}')
    await recorder.flush()
    t.equal(stored.length, 2, `${turns} microtasks later`)
  }
})
