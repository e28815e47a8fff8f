import t from 'tap'
import { blockBytes, UploadBlocks } from '../../lib/http/upload-blocks.ts'
import { until } from '../support/until.ts'

t.test('a block that was given back is taken again, and only once', async t => {
  const blocks = new UploadBlocks()
  const [one, other] = [blocks.take(), blocks.take()]
  t.equal(one.length, blockBytes)
  t.not(one, other)
  blocks.giveBack([one])
  t.equal(blocks.free, 1)
  t.equal(blocks.take(), one)
  t.not(blocks.take(), one)
})

t.test('no more than 32 MB wait for a file', async t => {
  const blocks = new UploadBlocks()
  blocks.giveBack(Array.from({ length: 100 }, () => blocks.take()))
  blocks.giveBack(Array.from({ length: 100 }, () => Buffer.alloc(0)))
  t.equal(blocks.free * blockBytes, 32 * 1024 * 1024)
})

t.test('free blocks are released when no file comes', async t => {
  const blocks = new UploadBlocks(1)
  blocks.giveBack([blocks.take()])
  await until(() => blocks.free === 0, 'the block to be released')
  blocks.giveBack([blocks.take()])
  t.equal(blocks.free, 1)
  await until(() => blocks.free === 0, 'the next one as well')
})
