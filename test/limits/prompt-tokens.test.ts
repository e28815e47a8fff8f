import t from 'tap'
import { measurePrompt, noMedia, textTokens } from '../../lib/limits/prompt-tokens.ts'

t.test('four letters are a token, or one character of Chinese', async t => {
  t.same(['', 'abcd', '漢字', 'ab漢'].map(textTokens), [0, 1, 2, 1.5])
})

t.test(
  'media are found in messages of each dialect, inline and by reference, and text is not media',
  async t => {
    const base64 = 'A'.repeat(8)
    const mediaIn = (content: unknown): unknown => (
      measurePrompt({ messages: [{ role: 'user', content }] }).media
    )
    for (const [medium, parts] of Object.entries({
      images: [
        { type: 'image_url', image_url: { url: `data:image/png;base64,${base64}` } },
        { type: 'image_url', image_url: { url: 'https://a.example/a' } },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64 } },
        { type: 'image', source: { type: 'url', url: 'https://a.example/a' } },
        { type: 'input_image', image_url: 'https://a.example/a' },
        { type: 'input_image', file_id: 'file-1' },
        {
          type: 'tool_result',
          tool_use_id: 'a',
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64 } }]
        }
      ],
      recordings: [{ type: 'input_audio', input_audio: { data: base64, format: 'wav' } }],
      others: [
        { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${base64}` } },
        { type: 'file', file: { file_id: 'file-1' } },
        { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: base64 } },
        { type: 'document', source: { type: 'file', file_id: 'f' } },
        { type: 'document', source: { type: 'url', url: 'https://a.example/a.pdf' } },
        { type: 'video_url', video_url: { url: 'https://a.example/a.mp4' } },
        { type: 'input_file', file_data: base64 },
        { type: 'input_file', file_url: 'https://a.example/a.pdf' },
        { type: 'part_of_tomorrow', data: 'A'.repeat(5000) }
      ]
    })) {
      for (const part of parts) {
        t.strictSame(mediaIn([part]), { ...noMedia, [medium]: 1 }, JSON.stringify(part).slice(0, 100))
      }
      t.strictSame(mediaIn(parts), { ...noMedia, [medium]: parts.length })
    }
    t.strictSame(
      mediaIn([
        { type: 'text', text: 'https://a.example/a.pdf' },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x'.repeat(5000) } },
        { type: 'file', file: { filename: 'a.txt', file_data: `data:text/plain;base64,${base64}` } },
        { type: 'tool_use', id: 'a', name: 'f', input: { file_id: 'a' } }
      ]),
      noMedia
    )
    t.strictSame(mediaIn('x'), noMedia)
  }
)
