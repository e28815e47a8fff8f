import t from 'tap'
import { Flow } from '../../lib/core/flow.ts'
import { EndedFrames } from '../../lib/replies/ended-frames.ts'
import type { PullSource } from '../../lib/core/flow.ts'

/** Frames by a source that says what it knows, as the stages of a pipeline do. */
function flowOf (...frames: string[]): AsyncIterable<string> {
  const flow = new Flow(undefined).opened<string>(async function * () { yield * frames })
  return flow?.through({ push: frame => frame, end: () => 'end' }) ?? flowOf()
}

async function * yields (...frames: string[]): AsyncGenerator<string, void, undefined> {
  yield * frames
}

/** Returns each frame, and whether it was known as the last one. */
async function read (frames: EndedFrames): Promise<unknown[]> {
  const seen: unknown[] = []
  for (let given = await frames.pull(); given.done !== true; given = await frames.pull()) seen.push(frames.hasEnded ? [given.value] : given.value)
  return seen
}

t.test('the last frame is known as such, from either source', async t => {
  t.same(await read(new EndedFrames(flowOf('a', 'b'), () => yields())), ['a', 'b', ['end']])
  t.same(await read(new EndedFrames(flowOf('a'), () => yields('x', 'y'))), ['a', 'end', 'x', ['y']])
  t.same(await read(new EndedFrames(yields('a'), () => yields('x'))), ['a', ['x']], 'frames that do not know their end')
  t.same(await read(new EndedFrames(yields(), () => yields())), [])
  t.same(await read(new EndedFrames(flowOf('a'), () => undefined)), ['a', ['end']], 'a printer that has sent all')
  t.same(await read(new EndedFrames(yields('a'), () => undefined)), ['a'], 'the same of frames that do not know their end')
})

t.test('frames are waited for, paused and known to be read as their source is, until something of the end is waited for', async t => {
  const steps: string[] = []
  let left = 2
  const source: PullSource<string> & AsyncIterable<string> = {
    get hasEnded () { return left === 0 },
    get isRead () { return left < 2 },
    whenReady: go => {
      steps.push('wait')
      go()
      return true
    },
    pause: () => { steps.push('pause') },
    pull: () => ({ done: false, value: `frame ${left--}` }),
    next: async () => source.pull(),
    [Symbol.asyncIterator]: () => source
  }
  const frames = new EndedFrames(source, () => yields('end'))
  t.equal(frames.whenReady(() => steps.push('ready')), true)
  frames.pause()
  t.same(steps.splice(0), ['wait', 'ready', 'pause'])
  t.equal(frames.isRead, false)
  t.same(frames.pull(), { done: false, value: 'frame 2' }, 'without a promise')
  t.equal(frames.isRead, true)
  t.same(await frames.pull(), { done: false, value: 'frame 1' })
  t.same([frames.isRead, frames.hasEnded], [false, false])
  t.equal(frames.whenReady(() => steps.push('ready')), false)
  frames.pause()
  t.same(steps, [])
  t.same(await frames.pull(), { done: false, value: 'end' })
  t.equal(frames.hasEnded, true)
  t.equal(frames.whenReady(() => steps.push('ready')), false)
})

t.test('the end is made after the frames, and not for a reader who leaves', async t => {
  const steps: string[] = []
  const frames = new EndedFrames((async function * () {
    try {
      yield 'a'
      steps.push('frames')
    } finally {
      steps.push('left')
    }
  })(), () => {
    steps.push('end')
    return yields('x')
  })
  await frames.pull()
  await frames.return()
  t.same(steps, ['left'])
  t.same(await frames.next(), { done: true, value: undefined })
})

t.test('an error of the end is one of the frames', async t => {
  const frames = new EndedFrames(yields('a'), () => ({
    [Symbol.asyncIterator]: () => ({ next: async () => await Promise.reject(new Error('the store is locked')) })
  }))
  await frames.pull()
  await t.rejects(async () => await frames.pull(), /the store is locked/)
})
