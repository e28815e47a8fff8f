import t from 'tap'
import { googleBody } from '../../support/google.ts'

t.test('media are sent inline or by address, with a registered media type', async t => {
  const image = (url: string): object => ({ type: 'image_url', image_url: { url } })
  const parts = [
    image('data:image/jpg;base64,AAAA'),
    image('data:;base64,AAAA'),
    image('https://e.example/a.PNG?w=1.gif'),
    image('http://e.example/a'),
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
    { type: 'file', file: { file_data: 'data:application/pdf;charset=x;base64,AAAA' } },
    { type: 'file', file: { file_data: 'AAAA', filename: 'notes.txt' } },
    { type: 'file', file: { file_data: 'https://e.example/a', filename: 'a.pdf' } },
    { type: 'file', file: { file_data: 'https://e.example/a.csv' } }
  ]
  t.same(googleBody({ messages: [{ role: 'user', content: parts as [] }] }).contents[0]?.parts, [
    { inlineData: { mimeType: 'image/jpeg', data: 'AAAA' } },
    { inlineData: { mimeType: 'image/jpeg', data: 'AAAA' } },
    { fileData: { mimeType: 'image/png', fileUri: 'https://e.example/a.PNG?w=1.gif' } },
    { fileData: { mimeType: 'image/jpeg', fileUri: 'http://e.example/a' } },
    { inlineData: { mimeType: 'audio/mp3', data: 'AAAA' } },
    { inlineData: { mimeType: 'application/pdf', data: 'AAAA' } },
    { inlineData: { mimeType: 'text/plain', data: 'AAAA' } },
    { fileData: { mimeType: 'application/pdf', fileUri: 'https://e.example/a' } },
    { fileData: { mimeType: 'text/csv', fileUri: 'https://e.example/a.csv' } }
  ])
})
