/** Leaving, with everything that this browser kept for whoever leaves: in all its tabs. */
import { forgetConversations } from '../model/kept-conversations.js'
import { api, forgetRefs } from './api.js'

const leaving = new BroadcastChannel('dragoman.leaving')
leaving.onmessage = leave

export async function logOut(): Promise<void> {
  await api('DELETE', 'session').catch(() => undefined) // its server is gone, and the session with it
  leaving.postMessage('')
  leave()
}

function leave(): void {
  forgetConversations()
  forgetRefs()
  location.reload()
}
