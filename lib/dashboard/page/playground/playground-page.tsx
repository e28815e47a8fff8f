/** The playground: every kind of request, tried in the browser. */

import type { ComponentType, JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { currentTab, Tabs } from '../parts/tabs.tsx'
import { currentSession } from '../state/session.ts'
import { Chat } from './chat.tsx'
import { project } from './conversation.ts'
import { Embeddings } from './embeddings.tsx'
import { Images } from './images.tsx'
import { Ocr } from './ocr.tsx'
import { Speech } from './speech.tsx'
import { Transcription } from './transcription.tsx'

const tabs: ReadonlyArray<{ readonly value: string, readonly label: string, readonly Tab: ComponentType }> = [
  { value: 'chat', label: 'Chat', Tab: Chat },
  { value: 'speech', label: 'Speech', Tab: Speech },
  { value: 'transcription', label: 'Transcription', Tab: Transcription },
  { value: 'images', label: 'Images', Tab: Images },
  { value: 'embeddings', label: 'Embeddings', Tab: Embeddings },
  { value: 'ocr', label: 'OCR', Tab: Ocr }
]

export function PlaygroundPage (): JSX.Element {
  useEffect(() => { document.title = 'Playground · Headgate' }, [])
  if (project.value === '') project.value = currentSession().projects[0]?.id ?? 'default'
  const shown = currentTab(tabs)
  return (
    <div class='page full playground'>
      <div class='playground-head'>
        <h1 id='page-title'>Playground</h1>
        <Tabs label='Kind of request' choices={tabs} />
      </div>
      {tabs.map(({ value, Tab }) => value === shown && <Tab key={value} />)}
    </div>
  )
}
