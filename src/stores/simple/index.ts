export { type FileStoreOptions, openFileStore } from './file-store.js'
export { type SimpleStorage, type SimpleStoreOptions, simpleStore } from './simple-store.js'
