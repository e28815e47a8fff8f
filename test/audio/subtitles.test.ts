import t from 'tap'
import { srt, vtt } from '../../lib/audio/subtitles.ts'

const cue = (start: number, end: number, text = 'x') => ({ start, end, text })

t.test('cues are written as SRT and WebVTT', async t => {
  const cues = [cue(0, 2.5, ' Hello,\n\n  world. '), cue(2.5, 3661.0415, 'A --> B & <C>')]
  t.equal(srt(cues), [
    '1', '00:00:00,000 --> 00:00:02,500', 'Hello,', 'world.', '',
    '2', '00:00:02,500 --> 01:01:01,042', 'A -> B & <C>', '', ''
  ].join('\n'))
  t.equal(vtt(cues), [
    'WEBVTT', '', '00:00:00.000 --> 00:00:02.500', 'Hello,', 'world.', '',
    '00:00:02.500 --> 01:01:01.042', 'A --&gt; B &amp; &lt;C&gt;', '', ''
  ].join('\n'))
})

t.test('times are rounded to milliseconds with carry, and are never invalid', async t => {
  const rows: ReadonlyArray<readonly [start: number, end: number, expected: string]> = [
    [0.0004, 0.0005, '00:00:00,000 --> 00:00:00,001'],
    [59.9994, 59.9995, '00:00:59,999 --> 00:01:00,000'],
    [3599.9999, 3600, '01:00:00,000 --> 01:00:00,000'],
    [359_999.999, 360_000, '99:59:59,999 --> 100:00:00,000'],
    [3_600_000.5, 3_600_001, '1000:00:00,500 --> 1000:00:01,000'],
    [-1, 1, '00:00:00,000 --> 00:00:01,000'],
    [5, 4, '00:00:05,000 --> 00:00:05,000'],
    [NaN, Infinity, '00:00:00,000 --> 00:00:00,000']
  ]
  for (const [start, end, expected] of rows) {
    t.equal(srt([cue(start, end)]), `1\n${expected}\nx\n\n`)
    t.equal(vtt([cue(start, end)]), `WEBVTT\n\n${expected.replaceAll(',', '.')}\nx\n\n`)
  }
})

t.test('silence gives no cues, and cue numbers have no gaps', async t => {
  t.equal(srt([]), '')
  t.equal(vtt([]), 'WEBVTT\n\n')
  t.match(srt([cue(0, 1, ' \n '), cue(1, 2)]), /^1\n00:00:01,000/)
})
