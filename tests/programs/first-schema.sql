BEGIN TRANSACTION;
CREATE TABLE aftereffect_events (
	program INTEGER NOT NULL, 
	sequence BIGINT NOT NULL, 
	kind VARCHAR(20) NOT NULL, 
	round BIGINT, 
	at VARCHAR(32) NOT NULL, 
	"by" VARCHAR(200), 
	"key" VARCHAR(200), 
	body TEXT NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	PRIMARY KEY (program, sequence), 
	FOREIGN KEY(program) REFERENCES aftereffect_programs (id)
);
INSERT INTO "aftereffect_events" VALUES(1,1,'create',0,'2026-11-16T21:46:45.020744Z','ann','new','{"answer":{"rounds":0,"made_with":{"results":"591be78a14a952b9","numba":"0.68.1","numpy":"2.4.6","processor":"Linux x86_64 znver4"}},"at":"2026-11-16T21:46:45.020744Z","by":"ann","key":"new","kind":"create","request":{"arms":["north","south"],"policy":"thompson-split","floors":0.1,"caps":null,"units":100,"history":null,"seed":0,"horizon":null,"feedback":"split","start":null,"step":null,"caution":null},"round":0,"sequence":1}','b86b18f1918b24665f547112305c5c292d9a0806066f82012b25a506f083ccad');
INSERT INTO "aftereffect_events" VALUES(1,2,'ask',1,'2026-11-16T21:46:53.142035Z','ann',NULL,'{"answer":{"round":1,"allocation":{"north":0.49500000000000033,"south":0.5050000000000003},"reason":{"round":1,"policy":"thompson-split","allocation":{"north":0.49500000000000033,"south":0.5050000000000003},"arms":[{"estimate":0.5,"radius":0.28867513459481287,"observations":0.0,"arm":"north"},{"estimate":0.5,"radius":0.28867513459481287,"observations":0.0,"arm":"south"}]},"made_with":{"results":"591be78a14a952b9","numba":"0.68.1","numpy":"2.4.6","processor":"Linux x86_64 znver4"},"units":{"north":50,"south":50}},"at":"2026-11-16T21:46:53.142035Z","by":"ann","key":null,"kind":"ask","request":{},"round":1,"sequence":2}','5dc8292383678c02b7977cc063aad633a52d36d6a09193768f9eee187f0fc30c');
INSERT INTO "aftereffect_events" VALUES(1,3,'tell',1,'2026-11-16T21:46:53.193991Z','bob','week-0','{"answer":{"round":1,"allocation":{"north":0.49500000000000033,"south":0.5050000000000003}},"at":"2026-11-16T21:46:53.193991Z","by":"bob","key":"week-0","kind":"tell","request":{"rewards":{"north":0.5,"south":0.0},"trials":null,"measures":null,"allocation":null,"round":null,"replace":false},"round":1,"sequence":3}','697beb515ddb6ff2955c2eb350ddc7530e317995041ffd6be6b38a8ccf936fcb');
INSERT INTO "aftereffect_events" VALUES(1,4,'ask',2,'2026-11-16T21:46:53.222425Z','ann',NULL,'{"answer":{"round":2,"allocation":{"north":0.7050000000000005,"south":0.29500000000000015},"reason":{"round":2,"policy":"thompson-split","allocation":{"north":0.7050000000000005,"south":0.29500000000000015},"arms":[{"estimate":0.5,"radius":0.25,"observations":1.0,"arm":"north"},{"estimate":0.3333333333333333,"radius":0.23570226039551584,"observations":1.0,"arm":"south"}]},"made_with":{"results":"591be78a14a952b9","numba":"0.68.1","numpy":"2.4.6","processor":"Linux x86_64 znver4"},"units":{"north":71,"south":29}},"at":"2026-11-16T21:46:53.222425Z","by":"ann","key":null,"kind":"ask","request":{},"round":2,"sequence":4}','da2348d470517d241c9dade7109d1cbc1bf5b25a1bcdb87b72cc3966e7c142af');
INSERT INTO "aftereffect_events" VALUES(1,5,'deploy',2,'2026-11-16T21:46:53.233458Z','bob',NULL,'{"answer":{"round":2,"allocation":{"north":0.5,"south":0.5}},"at":"2026-11-16T21:46:53.233458Z","by":"bob","key":null,"kind":"deploy","request":{"allocation":{"north":0.5,"south":0.5}},"round":2,"sequence":5}','d33f4558ea8591f28980889e50619642434c66525685b46124a3b8d37ed1cab8');
INSERT INTO "aftereffect_events" VALUES(1,6,'tell',2,'2026-11-16T21:46:53.259777Z',NULL,NULL,'{"answer":{"round":2},"at":"2026-11-16T21:46:53.259777Z","by":null,"key":null,"kind":"tell","request":{"rewards":{"north":0.5},"trials":{"north":10.0},"measures":null,"allocation":null,"round":2,"replace":false},"round":2,"sequence":6}','0ba8ab77f057fab2c7eaab472e0c75cd8c1e45a4f6021cb9c6038c498255b8d4');
INSERT INTO "aftereffect_events" VALUES(1,7,'tell',2,'2026-11-16T21:46:53.281223Z',NULL,'late','{"answer":{"round":2},"at":"2026-11-16T21:46:53.281223Z","by":null,"key":"late","kind":"tell","request":{"rewards":{"south":0.25},"trials":{"south":10.0},"measures":null,"allocation":null,"round":2,"replace":false},"round":2,"sequence":7}','453ecbff3a6a5e51fbb82cfb4b46478b3b6d6974104bf883d08deed6bd3f631d');
INSERT INTO "aftereffect_events" VALUES(1,8,'ask',3,'2026-11-16T21:46:53.324120Z','ann',NULL,'{"answer":{"round":3,"allocation":{"north":0.8750000000000007,"south":0.12500000000000003},"reason":{"round":3,"policy":"thompson-split","allocation":{"north":0.8750000000000007,"south":0.12500000000000003},"arms":[{"estimate":0.5,"radius":0.1336306209562122,"observations":11.0,"arm":"north"},{"estimate":0.2692307692307692,"radius":0.11854642313401878,"observations":11.0,"arm":"south"}]},"made_with":{"results":"591be78a14a952b9","numba":"0.68.1","numpy":"2.4.6","processor":"Linux x86_64 znver4"},"units":{"north":88,"south":12}},"at":"2026-11-16T21:46:53.324120Z","by":"ann","key":null,"kind":"ask","request":{},"round":3,"sequence":8}','348f91d7306ffc4de8a03bce4f2f69b73c82a7c7f0aef0d9cc325f110f393882');
INSERT INTO "aftereffect_events" VALUES(1,9,'tell',3,'2026-11-16T21:46:53.345877Z','bob','week-2','{"answer":{"round":3,"allocation":{"north":0.8750000000000007,"south":0.12500000000000003}},"at":"2026-11-16T21:46:53.345877Z","by":"bob","key":"week-2","kind":"tell","request":{"rewards":{"north":0.5,"south":0.5},"trials":null,"measures":null,"allocation":null,"round":null,"replace":false},"round":3,"sequence":9}','8dc9554aede2df6a42297ca6adad9e49bd7663cf874c0b6004683d5aa76358ca');
INSERT INTO "aftereffect_events" VALUES(2,1,'create',0,'2026-11-16T21:46:53.356351Z',NULL,NULL,'{"answer":{"rounds":0,"made_with":{"results":"591be78a14a952b9","numba":"0.68.1","numpy":"2.4.6","processor":"Linux x86_64 znver4"}},"at":"2026-11-16T21:46:53.356351Z","by":null,"key":null,"kind":"create","request":{"arms":["east","west"],"policy":"round-robin","floors":null,"caps":null,"units":null,"history":null,"seed":0,"horizon":null,"feedback":"split","start":null,"step":null,"caution":null},"round":0,"sequence":1}','6556d118d08c1fe2a235a818331451484ba1f3779eba389f5267e678cbc676d4');
INSERT INTO "aftereffect_events" VALUES(2,2,'ask',1,'2026-11-16T21:46:53.404245Z',NULL,NULL,'{"answer":{"round":1,"allocation":{"east":1.0,"west":0.0},"reason":{"round":1,"policy":"round-robin","allocation":{"east":1.0,"west":0.0}},"made_with":{"results":"591be78a14a952b9","numba":"0.68.1","numpy":"2.4.6","processor":"Linux x86_64 znver4"}},"at":"2026-11-16T21:46:53.404245Z","by":null,"key":null,"kind":"ask","request":{},"round":1,"sequence":2}','e59889cca4b1aff73534cd25cddcb461d2e6eb0f0075594535c6cdb6f36db661');
INSERT INTO "aftereffect_events" VALUES(2,3,'tell',1,'2026-11-16T21:46:53.439411Z',NULL,NULL,'{"answer":{"round":1,"allocation":{"east":1.0,"west":0.0}},"at":"2026-11-16T21:46:53.439411Z","by":null,"key":null,"kind":"tell","request":{"rewards":{"east":1.0},"trials":null,"measures":null,"allocation":null,"round":null,"replace":false},"round":1,"sequence":3}','25e263fbd3db6f4c22e347e6fb6983113d6e20cacd4b226c9beaaee6af2ce998');
CREATE TABLE aftereffect_programs (
	id INTEGER NOT NULL, 
	name VARCHAR(100) NOT NULL, 
	count BIGINT NOT NULL, 
	head VARCHAR(64) NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "aftereffect_programs" VALUES(1,'loans',9,'8dc9554aede2df6a42297ca6adad9e49bd7663cf874c0b6004683d5aa76358ca');
INSERT INTO "aftereffect_programs" VALUES(2,'patrols',3,'25e263fbd3db6f4c22e347e6fb6983113d6e20cacd4b226c9beaaee6af2ce998');
CREATE TABLE aftereffect_schema (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT aftereffect_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "aftereffect_schema" VALUES('0001');
CREATE TABLE aftereffect_snapshots (
	program INTEGER NOT NULL, 
	made_with VARCHAR(64) NOT NULL, 
	sequence BIGINT NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (program, made_with), 
	FOREIGN KEY(program) REFERENCES aftereffect_programs (id)
);
CREATE UNIQUE INDEX aftereffect_key ON aftereffect_events (program, "key");
CREATE INDEX aftereffect_round ON aftereffect_events (program, round);
COMMIT;
